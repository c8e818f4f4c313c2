//! Source text, written line by line.

use super::api::Docs;

/// Source text that grows.
#[derive(Debug, Default)]
pub(super) struct Source {
    text: String,
    /// What each line begins with.
    indent: String,
    /// What one step of it is.
    step: &'static str,
}

impl Source {
    pub(super) fn new(step: &'static str) -> Source {
        Source { step, ..Source::default() }
    }

    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&self.indent);
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn indented(&mut self, inside: impl FnOnce(&mut Source)) {
        let before = self.indent.len();
        self.indent.push_str(self.step);
        inside(self);
        self.indent.truncate(before);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The lines of a text that anybody wrote: nothing but what can be shown, and no space at their ends.
pub(super) fn lines(text: &str) -> Vec<String> {
    let clean = |c: char| match c {
        '\t' => Some(' '),
        // Those that turn the direction of text around can hide what follows them.
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}' => None,
        c if c.is_control() => None,
        c => Some(c),
    };
    let lines = text
        .trim()
        .lines()
        .map(|line| line.chars().filter_map(clean).collect::<String>().trim_end().to_owned());
    lines
        .filter({
            let mut was_empty = true;
            move |line: &String| {
                let keeps = !(line.is_empty() && was_empty);
                was_empty = line.is_empty();
                keeps
            }
        })
        .collect()
}

impl Docs {
    /// What is said about a method, and its errors, as paragraphs. What it is deprecated for is left to the language.
    pub(super) fn paragraphs(&self, wire: &str) -> Vec<String> {
        let mut all = lines(&self.text);
        if all.is_empty() {
            all.push(format!("Calls `{}`.", lines(wire).concat()));
        }
        if !self.errors.is_empty() {
            all.push(String::new());
            all.push("Errors:".to_owned());
            let error = |(code, message): &(i64, String)| format!("- {code}: {}", lines(message).join(" "));
            all.extend(self.errors.iter().map(error));
        }
        all
    }
}
