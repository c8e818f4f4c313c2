//! The beginning of texts and values that may be long, for a line on a terminal.

use std::borrow::Cow;

use switchboard::Json;
use unicode_width::UnicodeWidthChar;

use crate::layout::Layout;

/// A value without white space, of whose text only the beginning is looked at.
pub(crate) fn shortened(json: &Json, most: usize) -> String {
    let (text, mark) = beginning(json.as_str(), most);
    Layout::Line.of_text(text) + mark
}

/// The beginning of a text, and a mark if it goes on.
pub(crate) fn beginning(text: &str, most: usize) -> (&str, &'static str) {
    match &text[..text.floor_char_boundary(most)] {
        all if all.len() == text.len() => (all, ""),
        part => (part, "…"),
    }
}

/// The text, or as much of it as fits with a mark that it goes on.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    let mut used = 0;
    let mut fitting = 0;
    for (at, c) in text.char_indices() {
        if used < columns {
            fitting = at;
        }
        used += c.width().unwrap_or(0);
        if used > columns {
            return Cow::Owned(format!("{}…", &text[..fitting]));
        }
    }
    Cow::Borrowed(text)
}
