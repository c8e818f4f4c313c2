//! What the program says: to a person at a terminal, or to the next program in a pipe.
//!
//! A closed pipe is no failure: whoever reads has seen enough. So nothing here panics, and `println!`, which does, is
//! not used.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use switchboard::{ErrorObject, Json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::layout::{Layout, visible};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const ADVICE: Style = AnsiColor::Yellow.on_default();

/// Writes a result to stdout: laid out on a terminal, as it was received in a pipe or when that is asked for. Tells
/// whether anybody reads on.
pub(crate) fn result(json: &Json, is_raw: bool) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout();
    let written = if io::stdout().is_terminal() && !is_raw {
        writeln!(stdout, "{}", Layout::Page.of(json))
    } else {
        // Not through the colours: the text is to arrive byte for byte.
        let mut stdout = io::stdout().lock();
        stdout.write_all(json.as_bytes()).and_then(|()| stdout.write_all(b"\n"))
    };
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(Exit::CannotWrite, format!("cannot write the result: {error}"))),
    }
}

/// Writes to stderr, in colours where it shows them. What cannot be written there has no other place to go.
pub(crate) fn note(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Writes why a command failed to stderr.
pub(crate) fn failure(failure: &Failure) {
    match failure {
        Failure::Rejected(error) if io::stderr().is_terminal() => note(&page(error)),
        Failure::Rejected(error) => note(&line(error)),
        Failure::Trouble(trouble) => {
            let mut text = format!("{ERROR}error:{ERROR:#} {}", visible(&trouble.what));
            if let Some(advice) = &trouble.advice {
                text.push_str(&format!("; {ADVICE}{advice}{ADVICE:#}"));
            }
            text.push('\n');
            note(&text);
        }
    }
}

/// An error object for a person.
fn page(error: &ErrorObject) -> String {
    let mut text = format!("{ERROR}error {}{ERROR:#} {}\n", error.code, visible(&error.message));
    if let Some(data) = &error.data {
        text.push_str(&Layout::Page.of(data));
        text.push('\n');
    }
    text
}

/// An error object on one line of JSON.
fn line(error: &ErrorObject) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        code: i64,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Json>,
    }
    let line = Line { code: error.code.0, message: &error.message, data: error.data.as_ref() };
    let json = Json::encode_ref(&line).expect("a number, a string and JSON are JSON");
    Layout::Line.of(&json) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::Code;

    #[test]
    fn an_error_is_one_line_for_programs_and_a_page_for_people() {
        let error = ErrorObject::new(Code(7), "no\u{1b}[2J").with_data(&[1, 2]);
        assert_eq!(line(&error), "{\"code\":7,\"message\":\"no\\u001b[2J\",\"data\":[1,2]}\n");
        let shown = page(&error);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown, "error 7 no\\u001b[2J\n[\n  1,\n  2\n]\n");
    }
}
