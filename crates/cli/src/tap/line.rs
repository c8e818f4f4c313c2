//! The line of a message on a terminal. Nothing in it controls the terminal, whatever was sent.

use std::borrow::Cow;
use std::time::SystemTime;

use anstyle::{AnsiColor, Style};
use switchboard::Json;
use switchboard::lines::rfc3339;
use unicode_width::UnicodeWidthStr;

use crate::brief::{beginning, cut, shortened};
use crate::recording::{RecordedError, Side};
use crate::visible::visible;

const TO_SERVER: Style = AnsiColor::Cyan.on_default();
const TO_CLIENT: Style = AnsiColor::Green.on_default();
const METHOD: Style = Style::new().bold();
const FAILED: Style = AnsiColor::Red.on_default();
const FAINT: Style = Style::new().dimmed();

/// The most bytes of a value that are shown with `--full`.
const FULL: usize = 64 << 10;
/// How many columns the name of a method may take, unless all is shown.
const NAME: usize = 48;
/// How many columns a value has at least, beside however long a head.
const NARROWEST: usize = 16;

/// What is said about a call.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Value(&'a Json),
    Error(&'a RecordedError),
    Words(&'a str),
}

impl Content<'_> {
    /// It on one line, at most so many columns or [`FULL`] bytes. Nothing in it controls a terminal.
    fn text(self, columns: Option<usize>) -> String {
        // A column takes at most four bytes. What is cut off is not even looked at.
        let most = columns.map_or(FULL, |columns| (columns * 4).min(FULL));
        let text = match self {
            Content::Value(json) => shortened(json, most),
            Content::Error(error) => {
                let data = error.data.as_ref().map(|data| format!(" {}", shortened(data, most)));
                let (message, mark) = beginning(&error.message, most);
                format!("error {} {message}{mark}{}", error.code, data.unwrap_or_default())
            }
            Content::Words(words) => words.to_owned(),
        };
        let text = visible(&text);
        match columns {
            Some(columns) => cut(&text, columns).into_owned(),
            None => text,
        }
    }

    fn style(self) -> Style {
        match self {
            Content::Error(_) => FAILED,
            Content::Value(_) => Style::new(),
            Content::Words(_) => FAINT,
        }
    }
}

/// What a line begins with.
pub(crate) struct Head<'a> {
    pub(crate) session: u64,
    pub(crate) id: Option<u64>,
    pub(crate) to: Side,
    pub(crate) method: &'a str,
    /// What kind of message it is, or how long the answer took.
    pub(crate) note: &'a str,
}

impl Head<'_> {
    /// The line of a message, at most so many columns wide.
    pub(crate) fn line(&self, now: SystemTime, content: Option<Content<'_>>, width: Option<usize>) -> String {
        let now = rfc3339(now);
        let now = now.split_once('T').map_or(&*now, |(_, time)| time);
        let id = self.id.map(|id| format!("#{id}")).unwrap_or_default();
        let method = visible(self.method);
        let method = if width.is_some() { cut(&method, NAME) } else { Cow::Borrowed(&*method) };
        let (arrow, style) = match self.to {
            Side::Server => ("-->", TO_SERVER),
            Side::Client => ("<--", TO_CLIENT),
        };
        let (session, note) = (self.session, self.note);
        let note = if note.is_empty() { String::new() } else { format!("  {FAINT}{note}{FAINT:#}") };
        let head = format!(
            "{FAINT}{now}  {session:>2} {id:>4}{FAINT:#} {style}{arrow}{style:#} {METHOD}{method}{METHOD:#}{note}"
        );
        let Some(content) = content else { return head + "\n" };
        let used = anstream::adapter::strip_str(&head).to_string().width();
        let left = width.map(|width| width.saturating_sub(used + 2).max(NARROWEST));
        let look = content.style();
        format!("{head}  {look}{}{look:#}\n", content.text(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, content: Content<'_>, width: Option<usize>) -> String {
        let head = Head { session: 1, id: Some(2), to: Side::Server, method, note: "" };
        anstream::adapter::strip_str(&head.line(SystemTime::UNIX_EPOCH, Some(content), width)).to_string()
    }

    #[test]
    fn a_line_is_as_wide_as_the_terminal_at_most() {
        let json = Json::parse(r#"{ "text": "日本日本日本日本日本日本" }"#).unwrap();
        let check = |width: Option<usize>, expected: &str| {
            let expected = format!("00:00:00.000Z   1   #2 --> m  {expected}\n");
            assert_eq!(line("m", Content::Value(&json), width), expected);
        };
        check(None, r#"{"text":"日本日本日本日本日本日本"}"#);
        check(Some(80), r#"{"text":"日本日本日本日本日本日本"}"#);
        check(Some(47), "{\"text\":\"日本日…");
        check(Some(48), "{\"text\":\"日本日本…");
        check(Some(1), "{\"text\":\"日本日…");
    }

    #[test]
    fn only_the_beginning_of_a_huge_value_is_shown() {
        let json = Json::parse(format!("[\"{}\"]", "x".repeat(10 * FULL))).unwrap();
        assert!(line("m", Content::Value(&json), None).len() < FULL + 100);
        let error = RecordedError { code: 1, message: "x".repeat(10 * FULL), data: Some(json) };
        assert!(line("m", Content::Error(&error), None).len() < 2 * FULL + 100);
        assert_eq!(line("m", Content::Error(&error), Some(80)).trim_end().chars().count(), 80);
        assert!(line(&"x".repeat(1000), Content::Words("y"), Some(80)).len() < 100);
    }

    #[test]
    fn nothing_that_was_sent_controls_the_terminal() {
        let json = Json::parse("[\"\u{9b}2J\u{202e}\"]").unwrap();
        assert!(
            line("m\u{1b}[2J\n", Content::Value(&json), None)
                .ends_with("m\\u001b[2J\\u000a  [\"\\u009b2J\\u202e\"]\n")
        );
        let error = RecordedError { code: 1, message: "\u{1b}]0;x\u{7}\n".to_owned(), data: None };
        assert!(line("m", Content::Error(&error), None).ends_with("error 1 \\u001b]0;x\\u0007\\u000a\n"));
    }
}
