//! Draws the state. Parts that do not fit into a small terminal are left out, the least important first.

mod calls;
mod graphs;
mod heat;
mod help;
mod rows;
mod theme;
mod upstreams;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};
use unicode_width::UnicodeWidthStr;

pub(super) use self::theme::Theme;
use super::state::{Mode, State};
use super::wording::{gauges, server, summary};
use crate::visible::visible;

/// Terminals with fewer lines have no graphs.
const FOR_GRAPHS: u16 = 10;
/// Terminals with fewer lines do not show upstreams.
const FOR_UPSTREAMS: u16 = 14;
/// Terminals with fewer lines do not list calls.
const FOR_CALLS: u16 = 16;
/// Terminals with fewer lines have no heat map.
const FOR_HEAT: u16 = 28;

/// Draws everything.
pub(super) fn draw(state: &State, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let known = state.known();
    let has_graphs = area.height >= FOR_GRAPHS;
    let now = known.latest.as_ref().map_or(0.0, |stats| stats.t);
    let head = packed(&server(&known.info, now), area.width);
    let numbers = match &known.latest {
        Some(stats) if has_graphs => packed(&gauges(stats), area.width),
        Some(stats) => packed(&summary(stats), area.width),
        None => vec!["Waiting for the first interval.".to_owned()],
    };
    let lines = |lines: &[String]| Constraint::Length((lines.len() as u16).min(area.height / 4).max(1));
    let part = |is_shown: bool, height: u16| Constraint::Length(if is_shown { height } else { 0 });
    let list = part(area.height >= FOR_CALLS, area.height / 3);
    let behind = upstreams::height(known).min(area.height / 4);
    let [top, middle, graphs, heat, upstreams, rows, calls, bottom] = Layout::vertical([
        lines(&head),
        lines(&numbers),
        part(has_graphs, graphs::HEIGHT),
        part(area.height >= FOR_HEAT, heat::HEIGHT),
        part(area.height >= FOR_UPSTREAMS, behind),
        Constraint::Min(0),
        list,
        Constraint::Length(1),
    ])
    .areas(area);
    let is_odd = known.info.draining || known.info.config.error.is_some();
    let head_style = if is_odd { theme.warning } else { theme.head };
    paragraph(&head, head_style).render(top, buffer);
    paragraph(&numbers, Style::new()).render(middle, buffer);
    graphs::draw(known, theme, graphs, buffer);
    heat::draw(known, theme, heat, buffer);
    upstreams::draw(known, theme, upstreams, buffer);
    rows::draw(state, theme, rows, buffer);
    calls::draw(state, theme, calls, buffer);
    footer(state, theme).render(bottom, buffer);
    if state.mode == Mode::Help {
        help::draw(theme, area, buffer);
    }
}

/// The last line: what the user should know, or the keys.
fn footer(state: &State, theme: &Theme) -> Line<'static> {
    if state.mode == Mode::Filter {
        return Line::styled(format!("Methods with: {}▏ Enter keeps, Esc clears", state.filter), theme.head);
    }
    if let Some(reason) = state.lost() {
        return Line::styled(format!("Connection lost: {}; reconnecting", visible(reason)), theme.error);
    }
    if state.is_paused() {
        return Line::styled("Paused: press space to continue", theme.warning);
    }
    if !state.filter.is_empty() {
        let text = format!("Only methods with: {}  f changes, f Esc clears", state.filter);
        return Line::styled(text, theme.warning);
    }
    Line::styled("q quit  ? help  space pause  m t w rows  s sort  a all calls  f filter", theme.faint)
}

fn paragraph(lines: &[String], style: Style) -> Paragraph<'_> {
    Paragraph::new(lines.iter().map(|line| Line::from(line.as_str())).collect::<Vec<_>>()).style(style)
}

/// Words on as few lines as possible. One that is wider than a line has its own.
fn packed(words: &[String], width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.width() + 2 + word.width() <= usize::from(width) => {
                line.push_str("  ");
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
