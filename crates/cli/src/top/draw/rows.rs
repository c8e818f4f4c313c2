//! The table by method, transport or caller.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, StatefulWidget, Table, TableState};

use super::super::item;
use super::super::state::{Sort, State};
use super::super::wording::milliseconds;
use super::theme::Theme;
use crate::bench::figures::rate;

/// The width of numbers.
const NUMBER: u16 = 10;

/// A column of numbers, and how wide the terminal must be to show it.
struct Column {
    name: &'static str,
    sort: Sort,
    from: u16,
    value: fn(&item::Row, &dyn Fn(u64) -> String) -> String,
}

const COLUMNS: [Column; 5] = [
    Column { name: "calls/s", sort: Sort::Calls, from: 0, value: |row, rate| rate(row.calls) },
    Column { name: "errors/s", sort: Sort::Errors, from: 36, value: |row, rate| rate(row.errors) },
    Column { name: "p50", sort: Sort::P50, from: 60, value: |row, _| milliseconds(row.p50_ms) },
    Column { name: "p90", sort: Sort::P90, from: 72, value: |row, _| milliseconds(row.p90_ms) },
    Column { name: "p99", sort: Sort::P99, from: 48, value: |row, _| milliseconds(row.p99_ms) },
];

pub(super) fn draw(state: &State, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| area.width >= column.from).collect();
    let seconds = state.known().latest.as_ref();
    let rate = |count: u64| seconds.map_or_else(String::new, |stats| rate(stats.rate(count)));
    let right = |text: String| Cell::new(Text::from(text).alignment(Alignment::Right));
    let head =
        |name: &str, sort: Sort| if state.sort == sort { format!("▼{name}") } else { name.to_owned() };
    let names = columns.iter().map(|column| right(head(column.name, column.sort)));
    let name = Cell::new(head(state.wanted.by.name(), Sort::Name));
    let header = Row::new(std::iter::once(name).chain(names)).style(theme.head);
    let rows = state.rows();
    let lines = rows.iter().map(|row| {
        let values = columns.iter().map(|column| right((column.value)(row, &rate)));
        let style = if row.errors > 0 { theme.warning } else { theme.graph };
        Row::new(std::iter::once(Cell::new(row.name.to_string()).style(style)).chain(values))
    });
    let numbers = columns.iter().map(|_| Constraint::Length(NUMBER));
    let widths = std::iter::once(Constraint::Min(8)).chain(numbers);
    let table = Table::new(lines, widths).header(header).row_highlight_style(theme.selected);
    let selected = (!rows.is_empty()).then(|| state.selected());
    let mut scroll = TableState::default().with_selected(selected);
    StatefulWidget::render(table, area, buffer, &mut scroll);
}
