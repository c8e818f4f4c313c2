//! Lays out a JSON text: over many lines with colours for people, or on one line.
//!
//! It moves white space and nothing else, so numbers and the order of members stay as they were received.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use switchboard::Json;

use crate::visible::visible;

/// How to lay out a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// On one line without white space.
    Line,
    /// Over many lines, with colours.
    Page,
}

const NAME: Style = AnsiColor::Blue.on_default().bold();
const TEXT: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Cyan.on_default();
const WORD: Style = AnsiColor::Magenta.on_default();

impl Layout {
    /// The text, laid out.
    pub(crate) fn of(self, json: &Json) -> String {
        self.of_text(json.as_str())
    }

    /// The same for JSON that may be cut off anywhere.
    pub(crate) fn of_text(self, text: &str) -> String {
        let mut page = Page { out: String::new(), level: 0 };
        let mut rest = text;
        let mut last = "";
        while let Some((token, after)) = next(rest) {
            let following = after.trim_start();
            let written = match self {
                Layout::Line => page.out.write_str(token),
                Layout::Page => page.write(token, last, following),
            };
            // A String takes all that is written to it.
            debug_assert!(written.is_ok());
            (rest, last) = (after, token);
        }
        page.out
    }
}

struct Page {
    out: String,
    level: usize,
}

impl Page {
    fn write(&mut self, token: &str, last: &str, following: &str) -> fmt::Result {
        let is_empty = matches!((last, token), ("[", "]") | ("{", "}"));
        if matches!(token, "]" | "}") {
            self.level -= 1;
        }
        let begins_line = match last {
            "[" | "{" => !is_empty,
            _ => last == "," || matches!(token, "]" | "}"),
        };
        if begins_line {
            write!(self.out, "\n{:1$}", "", self.level * 2)?;
        }
        match token.as_bytes()[0] {
            b'[' | b'{' => {
                self.level += 1;
                self.out.write_str(token)
            }
            b':' => self.out.write_str(": "),
            b']' | b'}' | b',' => self.out.write_str(token),
            b'"' if following.starts_with(':') => self.colour(NAME, &visible(token)),
            b'"' => self.colour(TEXT, &visible(token)),
            b't' | b'f' | b'n' => self.colour(WORD, token),
            _ => self.colour(NUMBER, token),
        }
    }

    fn colour(&mut self, style: Style, text: &str) -> fmt::Result {
        write!(self.out, "{style}{text}{style:#}")
    }
}

/// The first token of a well-formed text, and the rest.
fn next(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let length = match text.bytes().next()? {
        b'[' | b']' | b'{' | b'}' | b',' | b':' => 1,
        b'"' => string_length(text.as_bytes()),
        _ => text.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(text.len()),
    };
    Some(text.split_at(length))
}

/// The length of the string that the text begins with, its quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        let json = Json::parse(text.to_owned()).unwrap();
        anstream::adapter::strip_str(&Layout::Page.of(&json)).to_string()
    }

    #[test]
    fn a_page_has_one_value_a_line() {
        let expected = "{\n  \"a\": [\n    1,\n    2.50\n  ],\n  \"b\": {},\n  \"c\": [],\n  \"d\": null\n}";
        assert_eq!(page(r#"{"a":[1,2.50] , "b":{ },"c":[ ],"d":null}"#), expected);
        assert_eq!(page("5"), "5");
        assert_eq!(page("[]"), "[]");
        assert_eq!(page("[[]]"), "[\n  []\n]");
    }

    #[test]
    fn strings_may_hold_what_separates_values_elsewhere() {
        assert_eq!(page(r#"["a,b]\"}:","\\",":"]"#), "[\n  \"a,b]\\\"}:\",\n  \"\\\\\",\n  \":\"\n]");
    }

    #[test]
    fn a_line_keeps_all_but_white_space() {
        let json = Json::parse("{\"a b\" :\n[ 12345678901234567890123 , 1.0 ]}").unwrap();
        assert_eq!(Layout::Line.of(&json), r#"{"a b":[12345678901234567890123,1.0]}"#);
    }

    #[test]
    fn a_page_does_not_command_the_terminal() {
        assert_eq!(page("\"\u{9b}31m\u{202e}x\u{7f}é\""), r#""\u009b31m\u202ex\u007fé""#);
    }
}
