//! Colours for a line while it is typed.

use std::sync::PoisonError;

use reedline::{Color, Highlighter, StyledText};

use super::completion::Known;

/// Colours lines.
pub(crate) struct Highlight {
    known: Known,
    has_colours: bool,
}

impl Highlight {
    pub(crate) fn new(known: Known, has_colours: bool) -> Highlight {
        Highlight { known, has_colours }
    }
}

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Command,
    Method,
    Name,
    Text,
    Number,
    Word,
    Other,
}

impl Highlighter for Highlight {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut styled = StyledText::new();
        for (part, text) in parts(line) {
            let style = match part {
                _ if !self.has_colours => Color::Default.normal(),
                Part::Method if known.methods.is_empty() || known.method(text).is_some() => {
                    Color::Green.bold()
                }
                Part::Method => Color::Default.bold(),
                Part::Command => Color::Yellow.normal(),
                Part::Name => Color::Blue.normal(),
                Part::Text => Color::Green.normal(),
                Part::Number => Color::Cyan.normal(),
                Part::Word => Color::Magenta.normal(),
                Part::Other => Color::Default.normal(),
            };
            styled.push((style, text.to_owned()));
        }
        styled
    }
}

/// The parts of a line, which make it up again.
fn parts(line: &str) -> Vec<(Part, &str)> {
    let mut parts = Vec::new();
    let mut rest = line;
    let is_json = rest.trim_start().starts_with(['[', '{']);
    let mut has_method = is_json;
    while let Some(c) = rest.chars().next() {
        let (part, length) = match c {
            '"' => string(rest),
            '[' | ']' | '{' | '}' | ',' | ':' | '!' => (Part::Other, 1),
            c if c.is_whitespace() => (Part::Other, c.len_utf8()),
            '.' if parts.iter().all(|(_, text): &(Part, &str)| text.trim().is_empty()) => {
                has_method = true;
                (Part::Command, word(rest, &[]))
            }
            _ if !has_method => {
                has_method = true;
                (Part::Method, word(rest, &[]))
            }
            _ => plain(rest),
        };
        let (text, after) = rest.split_at(length);
        parts.push((part, text));
        rest = after;
    }
    parts
}

/// A string, or the name of a member.
fn string(text: &str) -> (Part, usize) {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    let length = end.map_or(text.len(), |(at, _)| at + 1);
    let part = if text[length..].trim_start().starts_with(':') { Part::Name } else { Part::Text };
    (part, length)
}

/// A number, a word of JSON, the name in `name=value`, or a text without quotes.
fn plain(text: &str) -> (Part, usize) {
    let length = word(text, &[',', ']', '}', '[', '{', '"', ':']);
    let found = &text[..length];
    if let Some(at) = found.find('=') {
        return (Part::Name, at + 1);
    }
    let part = match found {
        "true" | "false" | "null" => Part::Word,
        _ if found.parse::<f64>().is_ok() => Part::Number,
        _ => Part::Text,
    };
    (part, length)
}

/// How long the word is that the text begins with: at least one character.
fn word(text: &str, ends: &[char]) -> usize {
    let end = text.char_indices().skip(1).find(|(_, c)| c.is_whitespace() || ends.contains(c));
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_line_are_told_apart_and_make_it_up() {
        let check = |line: &str, expected: &[(Part, &str)]| {
            let found = parts(line);
            assert_eq!(found.iter().map(|(_, text)| *text).collect::<String>(), line);
            let told: Vec<_> = found.into_iter().filter(|(part, _)| *part != Other).collect();
            assert_eq!(told, expected, "{line}");
        };
        use Part::*;
        check(
            "math/add a=2 b=true",
            &[(Method, "math/add"), (Name, "a="), (Number, "2"), (Name, "b="), (Word, "true")],
        );
        check("! log \"a \\\" b\" é", &[(Method, "log"), (Text, "\"a \\\" b\""), (Text, "é")]);
        check("add {\"a\": [1, null]}", &[(Method, "add"), (Name, "\"a\""), (Number, "1"), (Word, "null")]);
        check("[{\"method\": \"x\"}]", &[(Name, "\"method\""), (Text, "\"x\"")]);
        check(".describe add", &[(Command, ".describe"), (Text, "add")]);
        check("add \"open", &[(Method, "add"), (Text, "\"open")]);
        check("", &[]);
    }
    proptest::proptest! {
        #[test]
        fn the_parts_of_any_line_make_it_up(line in r#"(math/add|\.raw|!)?[ a-z0-9{}\[\]",:=\\é\u{3000}\n.-]{0,24}"#) {
            let whole: String = parts(&line).into_iter().map(|(_, text)| text).collect();
            proptest::prop_assert_eq!(whole, line);
        }
    }
}
