//! A table for people: columns as wide as what they hold, the last one wrapped to the width of the terminal.
//!
//! What is in it may come from the far side, so every text goes through [`visible`].

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::layout::visible;

const HEAD: Style = Style::new().bold();

/// Rows under the names of their columns.
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A text and how it looks.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Cell {
        Cell { text: visible(text.as_ref()), style }
    }

    /// A text that looks like any other.
    pub(crate) fn plain(text: impl AsRef<str>) -> Cell {
        Cell::new(text, Style::new())
    }
}

/// Space between two columns.
const GAP: usize = 2;
/// As wide is a column at most that is not the last.
const WIDEST: usize = 48;
/// As narrow does the last column get.
const NARROWEST: usize = 24;

impl Table {
    /// A table with these columns and no rows yet.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Table {
        Table { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(cells.into());
    }

    /// The table on a terminal of this many columns.
    pub(crate) fn render(&self, width: usize) -> String {
        let columns = self.heads.len();
        let widths: Vec<usize> = (0..columns).map(|column| self.width_of(column)).collect();
        let before: usize = widths[..columns - 1].iter().map(|width| width + GAP).sum();
        let last = width.saturating_sub(before).max(NARROWEST);
        let heads: Vec<Cell> = self.heads.iter().map(|head| Cell::new(head, HEAD)).collect();
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            write_row(&mut text, row, &widths, last);
        }
        text
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].text.width());
        cells.chain([self.heads[column].width()]).max().unwrap_or(0).min(WIDEST)
    }
}

fn write_row(text: &mut String, row: &[Cell], widths: &[usize], last: usize) {
    let Some((end, cells)) = row.split_last() else { return };
    let mut indent = 0;
    for (Cell { text: cell, style }, width) in cells.iter().zip(widths) {
        let cell = cut(cell, *width);
        let pad = width.saturating_sub(cell.width()) + GAP;
        text.push_str(&format!("{style}{cell}{style:#}{:pad$}", ""));
        indent += width + GAP;
    }
    if end.text.is_empty() {
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
        return;
    }
    for (number, part) in wrap(&end.text, last).iter().enumerate() {
        if number > 0 {
            text.push_str(&format!("{:indent$}", ""));
        }
        text.push_str(&format!("{}{part}{:#}\n", end.style, end.style));
    }
}

/// The text, or as much of it as fits, with a sign that there is more.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let wide = c.width().unwrap_or(0);
        let is_in = wide <= room;
        room = room.saturating_sub(wide);
        is_in
    };
    text.chars().take_while(fits).collect::<String>() + "…"
}

/// The text in lines of at most this width, broken at spaces where there are any. At least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let bare = word.trim_end_matches(' ').width();
        if used > 0 && used + bare > width {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used > 0 && used + wide > width && c != ' ' {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("there is a line from the start").push(c);
            used += wide;
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

/// How wide the terminal is that stdout is shown on.
pub(crate) fn terminal_width() -> usize {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(80, |(width, _)| usize::from(width.0).max(40))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(rows: &[[&str; 3]], width: usize) -> String {
        let mut table = Table::new(["id", "name", "text"]);
        for row in rows {
            table.row(row.map(Cell::plain));
        }
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    #[test]
    fn columns_are_aligned_also_where_characters_are_wide() {
        let expected = "id  name  text\n1   日本  a\n2   x     b\n";
        assert_eq!(render(&[["1", "日本", "a"], ["2", "x", "b"]], 80), expected);
    }

    #[test]
    fn the_last_column_is_wrapped() {
        let text = "one two three four five six seven";
        let expected = "id  name  text\n1   x     one two three four five\n          six seven\n";
        assert_eq!(render(&[["1", "x", text]], 34), expected);
        let expected = "id  name  text\n1   x     aaaaaaaaaaaaaaaaaaaaaaaa\n          aaaaaa\n";
        assert_eq!(render(&[["1", "x", &"a".repeat(30)]], 20), expected);
    }

    #[test]
    fn other_columns_are_cut() {
        let long = "n".repeat(100);
        let shown = render(&[["1", &long, "t"]], 80);
        assert!(shown.contains(&format!("{}…  t\n", "n".repeat(47))), "{shown}");
    }

    #[test]
    fn no_text_commands_the_terminal_or_breaks_the_row() {
        let shown = render(&[["\u{1b}[2J", "a\nb", "c\u{202e}"]], 80);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
        assert_eq!(shown.lines().count(), 2, "{shown}");
    }

    #[test]
    fn every_line_fits_and_nothing_is_lost() {
        for width in 1..20 {
            let text = "a bb 日本語 cccccccccccc d";
            let lines = wrap(text, width);
            assert!(lines.iter().all(|line| line.width() <= width.max(2)), "{lines:?}");
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.replace(' ', ""), "{width}");
        }
    }
}
