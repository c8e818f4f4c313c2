//! The list of calls that failed or took long, or of all.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table, Widget};

use super::super::state::{Calls, State};
use super::super::wording::{clock, milliseconds, outcome};
use super::theme::Theme;

/// Narrower terminals do not show transports and callers.
const FOR_CALLERS: u16 = 70;

pub(super) fn draw(state: &State, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    let mut title = match state.wanted.calls {
        Calls::All => "Latest calls".to_owned(),
        Calls::Notable | Calls::Nothing => "Latest calls that failed or took long".to_owned(),
    };
    if let missed @ 1.. = state.known().missed {
        title.push_str(&format!(" ({missed} not shown: too many at once)"));
    }
    buffer.set_stringn(area.x, area.y, title, usize::from(area.width), theme.head);
    let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let has_callers = area.width >= FOR_CALLERS;
    let lines = state.calls().take(usize::from(area.height)).map(|call| {
        let style = if &*call.outcome == "ok" { theme.graph } else { theme.error };
        let method = if call.method.is_empty() { "(invalid message)" } else { &*call.method };
        let mut cells = vec![
            Cell::new(clock(call.t)).style(theme.faint),
            Cell::new(outcome(call)).style(style),
            Cell::new(Text::from(milliseconds(Some(call.ms))).alignment(Alignment::Right)),
            Cell::new(method.to_owned()),
        ];
        if has_callers {
            let who = call.who.as_ref().or(call.peer.as_ref()).map_or("", |who| &**who);
            cells.push(Cell::new(format!("{} {who}", &*call.transport)));
        }
        Row::new(cells)
    });
    let mut widths =
        vec![Constraint::Length(8), Constraint::Length(14), Constraint::Length(8), Constraint::Fill(3)];
    if has_callers {
        widths.push(Constraint::Fill(2));
    }
    Widget::render(Table::new(lines, widths), area, buffer);
}
