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
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}'
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

/// How many characters a line of documentation has at most, if it can be broken.
const WIDTH: usize = 110;

/// The [`lines`] of a text in Markdown, none of them too long to read. What means something else on two lines stays on one: code, tables
/// and headings.
pub(super) fn prose(text: &str) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut all = Vec::new();
    for line in lines(text) {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        let is_prose = fence.is_none() && mark.is_none() && !start.starts_with(['|', '#', '>']);
        fence = match (fence, mark) {
            (None, mark) => mark,
            (Some(open), mark) => Some(open).filter(|open| mark != Some(open)),
        };
        if is_prose && !line.starts_with("    ") {
            all.extend(broken(&line));
        } else {
            all.push(line);
        }
    }
    all
}

/// A line in parts. None but the first begins with what begins a list or a heading.
fn broken(line: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    for (at, word) in line.split(' ').enumerate() {
        let begins_other = |c: char| !c.is_alphanumeric() && !matches!(c, '(' | '"' | '\'' | '“' | '`' | '[');
        let is_word = !word.starts_with(begins_other) && !word.ends_with(['.', ')']) && !word.is_empty();
        if at > 0 && is_word && part.chars().count() + word.chars().count() >= WIDTH {
            parts.push(std::mem::replace(&mut part, word.to_owned()));
        } else {
            part.push_str(if at > 0 { " " } else { "" });
            part.push_str(word);
        }
    }
    parts.push(part);
    parts
}

impl Docs {
    /// What is said about a method, and its errors, as paragraphs. What it is deprecated for is left to the language.
    pub(super) fn paragraphs(&self, wire: &str) -> Vec<String> {
        let mut all = prose(&self.text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_where_they_mean_the_same() {
        let words = "word ".repeat(40);
        let lines = prose(&words);
        assert!(lines.len() == 2 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines.join(" "), words.trim());
        for kept in [
            "- - ".repeat(50),
            format!("| {words}|"),
            format!("```\n{words}\n```"),
            "x".repeat(300),
            "1. ".repeat(99),
        ] {
            assert_eq!(prose(&kept), super::lines(&kept));
        }
        let mixed = format!("~~~\n```\n{words}\n~~~\n{words}");
        assert_eq!(prose(&mixed).len(), 6);
    }
}
