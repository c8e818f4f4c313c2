//! The styles of the view.

use ratatui::style::{Color, Modifier, Style};

/// How things look. Without colours, only weight and inversion differ.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Theme {
    pub(super) head: Style,
    pub(super) faint: Style,
    pub(super) graph: Style,
    pub(super) warning: Style,
    pub(super) error: Style,
    pub(super) selected: Style,
}

impl Theme {
    pub(in super::super) fn new(is_coloured: bool) -> Theme {
        let colour = |style: Style, colour: Color| if is_coloured { style.fg(colour) } else { style };
        let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        Theme {
            head: bold,
            faint: plain.add_modifier(Modifier::DIM),
            graph: colour(plain, Color::Cyan),
            warning: colour(bold, Color::Yellow),
            error: colour(bold, Color::Red),
            selected: plain.add_modifier(Modifier::REVERSED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_nothing_has_one() {
        let Theme { head, faint, graph, warning, error, selected } = Theme::new(false);
        for style in [head, faint, graph, warning, error, selected] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert!(Theme::new(true).error.fg.is_some());
    }
}
