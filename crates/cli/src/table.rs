//! A table for people: columns as wide as what they hold, or narrower where the terminal is, and then of several lines.
//!
//! What is in it may come from the server, so every text goes through [`visible`].

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::visible::visible;

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
/// As narrow does a column get, unless what it holds is narrower.
const NARROWEST: usize = 16;
/// As narrow does the last column get, which mostly holds sentences.
const LAST: usize = 24;

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
        let natural = (0..self.heads.len()).map(|column| self.width_of(column, usize::MAX)).collect();
        let mut widths = fitted(natural, width);
        for (column, width) in widths.iter_mut().enumerate() {
            // Where a line is broken at a space, something is left of it.
            *width = self.width_of(column, *width);
        }
        widen_last(&mut widths, width);
        let heads: Vec<Cell> = self.heads.iter().map(|head| Cell::new(head, HEAD)).collect();
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            write_row(&mut text, row, &widths);
        }
        text
    }

    /// How wide a column is that is broken at this width.
    fn width_of(&self, column: usize, width: usize) -> usize {
        let widest = |text: &str| match text.width() <= width {
            true => text.width(),
            false => wrap(text, width).iter().map(|line| line.width()).max().unwrap_or(0),
        };
        let cells = self.rows.iter().map(|row| widest(&row[column].text));
        cells.chain([widest(&self.heads[column])]).max().unwrap_or(0)
    }
}

/// Widths that fit into a line, if they can: the last column gives way first, then whichever is widest.
fn fitted(mut widths: Vec<usize>, line: usize) -> Vec<usize> {
    let gaps = GAP * widths.len().saturating_sub(1);
    let excess = |widths: &[usize]| (widths.iter().sum::<usize>() + gaps).saturating_sub(line);
    if let Some(last) = widths.last_mut().filter(|last| **last > LAST) {
        *last = LAST;
    }
    loop {
        let excess = excess(&widths);
        let widest = widths.iter_mut().rev().skip(1).max_by_key(|width| **width);
        match widest.filter(|width| excess > 0 && **width > NARROWEST) {
            Some(width) => *width = width.saturating_sub(excess.div_ceil(2)).max(NARROWEST),
            None => break,
        }
    }
    widths
}

/// Gives the last column what the others leave of the line.
fn widen_last(widths: &mut [usize], line: usize) {
    let Some((last, others)) = widths.split_last_mut() else { return };
    let before: usize = others.iter().map(|width| width + GAP).sum();
    *last = line.saturating_sub(before).max(LAST);
}

fn write_row(text: &mut String, row: &[Cell], widths: &[usize]) {
    let cells: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| wrap(&cell.text, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..height {
        let mut pad = 0;
        for ((lines, cell), width) in cells.iter().zip(row).zip(widths) {
            let part = lines.get(number).map_or("", String::as_str);
            if !part.is_empty() {
                text.push_str(&format!("{:pad$}{}{part}{:#}", "", cell.style, cell.style));
                pad = 0;
            }
            pad += width.saturating_sub(part.width()) + GAP;
        }
        text.push('\n');
    }
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
    fn other_columns_are_wrapped_where_the_line_is_too_short() {
        let name = "\"one\" | \"two\" | \"three\" | \"four\"";
        let expected = "id  name                     text\n\
                        1   \"one\" | \"two\" | \"three\"  some words that are\n    \
                        | \"four\"                 wrapped too\n";
        assert_eq!(render(&[["1", name, "some words that are wrapped too"]], 53), expected);
        let all = "id  name                              text\n\
                   1   \"one\" | \"two\" | \"three\" | \"four\"  t\n";
        assert_eq!(render(&[["1", name, "t"]], 80), all);
    }

    #[test]
    fn a_table_fits_its_line_unless_that_is_very_short() {
        let long = "word ".repeat(40);
        for width in 60..200 {
            let shown = render(&[[&long, &long, &long], ["1", "x", &long]], width);
            let is_in = |line: &str| line.width() <= width;
            assert!(shown.lines().all(is_in), "{width}: {shown}");
            assert_eq!(shown.matches("word").count(), 160);
        }
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
