//! The keys, over everything else.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Widget};

use super::super::input::KEYS;
use super::theme::Theme;

/// The width of the keys, and of the whole.
const KEY: usize = 24;
const WIDTH: u16 = 76;

pub(super) fn draw(theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines: Vec<Line<'_>> =
        KEYS.iter().map(|(key, what)| Line::from(format!("{key:KEY$} {what}"))).collect();
    let (width, height) = (WIDTH.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let area = area.centered(Constraint::Length(width), Constraint::Length(height));
    Clear.render(area, buffer);
    let block = Block::bordered().title(" Keys ").title_style(theme.head);
    Paragraph::new(lines).block(block).render(area, buffer);
}
