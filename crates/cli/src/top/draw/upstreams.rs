//! The upstreams of a gateway.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table, Widget};

use super::super::state::Known;
use super::super::upstreams::Upstream;
use super::super::wording::milliseconds;
use super::theme::Theme;
use crate::bench::figures::{count, rate};

/// The width of a column.
const WIDTH: u16 = 9;

/// A column, and how wide the terminal must be to show it.
struct Column {
    name: &'static str,
    from: u16,
    value: fn(&Upstream, &dyn Fn(u64) -> String) -> String,
}

const COLUMNS: [Column; 7] = [
    Column { name: "state", from: 0, value: |upstream, _| upstream.state.to_string() },
    Column { name: "in flight", from: 58, value: |upstream, _| count(upstream.in_flight) },
    Column { name: "calls/s", from: 28, value: |upstream, rate| rate(upstream.calls) },
    Column { name: "errors/s", from: 38, value: |upstream, rate| rate(upstream.errors) },
    Column { name: "latency", from: 48, value: |upstream, _| milliseconds(upstream.latency_ms()) },
    Column { name: "ejected", from: 68, value: |upstream, _| upstream.ejected() },
    Column {
        name: "breaker",
        from: 78,
        value: |upstream, _| upstream.breaker.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
    },
];

/// The lines that they need: none if there are none.
pub(super) fn height(known: &Known) -> u16 {
    match known.upstreams.shown.len() {
        0 => 0,
        count => u16::try_from(count).unwrap_or(u16::MAX).saturating_add(1),
    }
}

pub(super) fn draw(known: &Known, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| area.width >= column.from).collect();
    let per_second =
        |calls: u64| known.latest.as_ref().map_or_else(String::new, |stats| rate(stats.rate(calls)));
    let right = |text: String| Cell::new(Text::from(text).alignment(Alignment::Right));
    let names = columns.iter().map(|column| right(column.name.to_owned()));
    let header = Row::new(std::iter::once(Cell::new("upstream")).chain(names)).style(theme.head);
    let lines = known.upstreams.shown.iter().map(|upstream| {
        let style = match &*upstream.state {
            "up" => theme.graph,
            "down" => theme.error,
            _ => theme.warning,
        };
        let values = columns.iter().map(|column| right((column.value)(upstream, &per_second)));
        Row::new(std::iter::once(Cell::new(upstream.name.to_string()).style(style)).chain(values))
    });
    let widths = std::iter::once(Constraint::Min(8)).chain(columns.iter().map(|_| Constraint::Length(WIDTH)));
    Widget::render(Table::new(lines, widths).header(header), area, buffer);
}
