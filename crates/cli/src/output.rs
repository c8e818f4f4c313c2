//! The program's output: for a person at a terminal, or for the next program in a pipe.
//!
//! A closed pipe is not a failure: the reader has seen enough. So nothing here panics, and `println!`, which does, is not used.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::{Deserialize, Serialize};
use switchboard::{Code, ErrorObject, Json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::layout::Layout;
use crate::visible::{harmless, visible};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const ADVICE: Style = AnsiColor::Yellow.on_default();

/// How results are written.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Format {
    /// Write results and errors as JSON on a terminal too, one per line.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write results exactly as received. On a terminal, control characters are escaped.
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    raw: bool,
}

/// Whether errors are JSON on a terminal too.
static JSON: AtomicBool = AtomicBool::new(false);

fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

impl Format {
    /// Writes errors like results from now on.
    pub(crate) fn for_errors(self) {
        JSON.fetch_or(self.is_json(), Ordering::Relaxed);
    }

    /// Whether the command line asks for JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json || self.raw
    }

    /// Whether a person reads: tables, pages and colours, not JSON.
    pub(crate) fn is_for_people(self) -> bool {
        io::stdout().is_terminal() && !self.is_json()
    }
}

/// Writes a result to stdout: laid out on a terminal, as received in a pipe, or as the format says. Returns whether stdout is
/// still read.
pub(crate) fn result(json: &Json, format: Format) -> Result<bool, Failure> {
    if format.is_for_people() {
        page(&(Layout::Page.of(json) + "\n"))
    } else if io::stdout().is_terminal() && !format.raw {
        page(&(Layout::Line.of(json) + "\n"))
    } else if io::stdout().is_terminal() {
        // A terminal would write over the line. Strings hold none: JSON escapes it there.
        page(&(json.as_str().replace('\r', "") + "\n"))
    } else {
        bytes(&[json.as_bytes(), b"\n"].concat())
    }
}

/// Writes text to stdout; in a pipe byte for byte. Returns whether stdout is still read.
pub(crate) fn bytes(bytes: &[u8]) -> Result<bool, Failure> {
    if io::stdout().is_terminal() {
        return page(&String::from_utf8_lossy(bytes));
    }
    let mut stdout = io::stdout().lock();
    is_read(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes text to stdout, in colours where it shows them. Returns whether stdout is still read.
pub(crate) fn page(text: &str) -> Result<bool, Failure> {
    let text = for_reader(text, io::stdout().is_terminal());
    let mut stdout = anstream::stdout();
    is_read(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// The text as its reader gets it, without sequences that control a terminal.
fn for_reader(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { harmless(text) } else { Cow::Borrowed(text) }
}

fn is_read(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::new(Exit::CannotWrite, format!("cannot write to standard output: {error}")))
        }
    }
}

/// Takes notes instead of stderr.
type NoteTaker = Box<dyn Fn(&str) + Send + Sync>;

/// Takes notes instead of stderr: a prompt that owns the terminal, or a log that must not block.
static NOTES: OnceLock<NoteTaker> = OnceLock::new();

/// Sends all notes here from now on.
pub(crate) fn note_elsewhere(take: impl Fn(&str) + Send + Sync + 'static) {
    // A program sets it once.
    let _ = NOTES.set(Box::new(take));
}

/// Writes to stderr, in colours where it shows them. What cannot be written there has no other place to go.
pub(crate) fn note(text: &str) {
    if let Some(take) = NOTES.get() {
        return take(text);
    }
    let text = for_reader(text, io::stderr().is_terminal());
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// A note as others write it to stderr: in colours if it shows them.
pub(crate) fn for_stderr(text: &str) -> Cow<'_, str> {
    let text = for_reader(text, io::stderr().is_terminal());
    match anstream::AutoStream::choice(&io::stderr()) {
        anstream::ColorChoice::Never => Cow::Owned(anstream::adapter::strip_str(&text).to_string()),
        _ => text,
    }
}

/// Writes why a command failed to stderr.
pub(crate) fn failure(failure: &Failure) {
    match failure {
        Failure::Rejected(error, advice) if !io::stderr().is_terminal() || is_json() => {
            // Not through the colours: what looks like one in a message is part of it.
            let line = line(error, advice.as_deref());
            let _ = io::stderr().write_all(for_reader(&line, io::stderr().is_terminal()).as_bytes());
        }
        _ => note(&described(failure)),
    }
}

/// Why something failed, for a person.
pub(crate) fn described(failure: &Failure) -> String {
    match failure {
        Failure::Rejected(error, advice) => rejection(error, advice.as_deref()),
        Failure::Trouble(trouble) => {
            let mut text = format!("{ERROR}error:{ERROR:#} {}", visible(&trouble.what));
            if let Some(advice) = &trouble.advice {
                text.push_str(&format!("; {ADVICE}{}{ADVICE:#}", shown(advice)));
            }
            text.push('\n');
            text
        }
        Failure::Shown(_, text) => text.clone(),
    }
}

/// An error object for a person.
fn rejection(error: &ErrorObject, advice: Option<&str>) -> String {
    let mut text = format!("{ERROR}error {}{ERROR:#} {}", error.code, visible(&error.message));
    match (unknown_method(error), &error.data) {
        (Some(method), _) => text.push_str(&format!(": {}", visible(&method))),
        (None, Some(data)) => text.push_str(&format!("\n{}", Layout::Page.of(data))),
        (None, None) => {}
    }
    text.push('\n');
    if let Some(advice) = advice {
        text.push_str(&format!("{ADVICE}{}{ADVICE:#}\n", shown(advice)));
    }
    text
}

/// The name of an unknown method, if `data` holds nothing else.
fn unknown_method(error: &ErrorObject) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data {
        method: String,
    }
    let data = error.data.as_ref().filter(|_| error.code == Code::METHOD_NOT_FOUND)?;
    data.decode::<Data>().ok().map(|data| data.method)
}

/// Text of several lines, with all other control characters escaped.
fn shown(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

/// An error object on one line of JSON, with the advice as another member.
fn line(error: &ErrorObject, advice: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        code: i64,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        advice: Option<&'a str>,
    }
    let line = Line { code: error.code.0, message: &error.message, data: error.data.as_ref(), advice };
    let json = Json::encode_ref(&line).expect("a number, a string and JSON are JSON");
    Layout::Line.of(&json) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_for_programs_and_a_page_for_people() {
        let error = ErrorObject::new(Code(7), "no\u{1b}[2J").with_data(&[1, 2]);
        let expected = "{\"code\":7,\"message\":\"no\\u001b[2J\",\"data\":[1,2]}\n";
        assert_eq!(line(&error, None), expected);
        let advised = expected.replace('}', ",\"advice\":\"did you mean `a`?\"}");
        assert_eq!(line(&error, Some("did you mean `a`?")), advised);
        let shown = rejection(&error, Some("try\n  this\u{1b}"));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown, "error 7 no\\u001b[2J\n[\n  1,\n  2\n]\ntry\n  this\\u001b\n");
    }

    #[test]
    fn the_name_of_an_unknown_method_stands_beside_the_error() {
        let check = |error: ErrorObject, expected: &str| {
            assert_eq!(anstream::adapter::strip_str(&rejection(&error, None)).to_string(), expected);
        };
        let unknown = ErrorObject::method_not_found("a\u{1b}");
        check(unknown, "error -32601 Method not found: a\\u001b\n");
        check(ErrorObject::from_code(Code::METHOD_NOT_FOUND), "error -32601 Method not found\n");
    }

    #[test]
    fn advice_does_not_command_the_terminal() {
        let failure = Failure::usage("no\u{7}").advise("did you mean `math/add\u{1b}]0;PWNED\u{7}`?");
        let told = anstream::adapter::strip_str(&described(&failure)).to_string();
        assert_eq!(told, "error: no\\u0007; did you mean `math/add\\u001b]0;PWNED\\u0007`?\n");
    }
}
