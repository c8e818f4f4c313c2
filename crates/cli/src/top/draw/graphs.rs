//! Calls, errors and latency over time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{RenderDirection, Sparkline, Widget};

use super::super::state::{Interval, Known};
use super::super::wording::milliseconds;
use super::theme::Theme;
use crate::bench::figures::rate;

/// One line for each graph.
pub(super) const HEIGHT: u16 = 3;
/// The width of names, and of numbers.
const NAME: usize = 8;
const NUMBER: usize = 9;

/// What a graph shows of an interval.
type Value = fn(&Interval) -> f64;

pub(super) fn draw(known: &Known, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let last = known.history.back().cloned().unwrap_or_default();
    let errors = if last.errors > 0.0 { theme.error } else { theme.graph };
    let graphs: [(&str, String, Value, Style); 3] = [
        ("calls/s", rate(last.calls), |interval| interval.calls, theme.graph),
        ("errors/s", rate(last.errors), |interval| interval.errors, errors),
        ("p99", milliseconds(last.p99_ms), |interval| interval.p99_ms.unwrap_or(0.0), theme.graph),
    ];
    for ((name, number, value, style), line) in graphs.into_iter().zip(area.rows()) {
        let text = format!("{name:NAME$} {number:>NUMBER$} ");
        let (x, _) = buffer.set_stringn(line.x, line.y, text, usize::from(line.width), theme.head);
        let graph = Rect { x, width: line.right().saturating_sub(x), ..line };
        // Newest first, since it is drawn from the right.
        let values = known.history.iter().rev().take(usize::from(graph.width)).map(value);
        // The graph is about proportions: whole numbers need room for small ones.
        let values: Vec<u64> = values.map(|value| (value * 1e3).max(0.0) as u64).collect();
        Sparkline::default()
            .data(&values)
            .direction(RenderDirection::RightToLeft)
            .style(style)
            .render(graph, buffer);
    }
}
