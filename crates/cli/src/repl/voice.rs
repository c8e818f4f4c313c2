//! Shows results, errors and notifications: to a person on the screen, or to a program in a pipe.

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use switchboard::{Call, ErrorObject, Json, Reply, ReplyFuture, Service, service_fn};
use unicode_width::UnicodeWidthStr;

use super::screen::Screen;
use crate::failure::Failure;
use crate::layout::Layout;
use crate::output::{self, Format};
use crate::table::terminal_width;
use crate::visible::visible;

const DIM: Style = Style::new().dimmed();
const PUSHED: Style = AnsiColor::Yellow.on_default();

/// Who reads.
#[derive(Clone)]
pub(crate) enum Voice {
    /// A person.
    Screen(Screen),
    /// A program: results on stdout, one per line, and the rest on stderr.
    Pipe(Format),
}

impl Voice {
    /// Whether a person reads.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self, Voice::Screen(_))
    }

    /// Shows a result.
    pub(crate) fn result(&self, json: &Json) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => screen.say(&Layout::Page.of(json)),
            Voice::Pipe(format) => drop(output::result(json, *format)?),
        }
        Ok(())
    }

    /// Shows an item of the stream with this number.
    pub(crate) fn item(&self, number: usize, json: &Json) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => {
                screen.say(&format!("{PUSHED}#{number}{PUSHED:#} {}", Layout::Page.of(json)));
                Ok(())
            }
            Voice::Pipe(_) => self.result(json),
        }
    }

    /// Shows why something failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        match self {
            Voice::Screen(screen) => {
                screen.say(&wrapped(output::described(failure).trim_end(), terminal_width()));
            }
            Voice::Pipe(_) => output::failure(failure),
        }
    }

    /// Shows a remark.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Voice::Screen(screen) => {
                screen.say(&format!("{DIM}{}{DIM:#}", wrapped(text, terminal_width())));
            }
            Voice::Pipe(_) => output::note(&format!("{text}\n")),
        }
    }

    /// Shows a text that was asked for.
    pub(crate) fn page(&self, text: &str) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => screen.say(text.trim_end()),
            Voice::Pipe(_) => drop(output::page(text)?),
        }
        Ok(())
    }

    /// Shows the notifications and calls of the server, which finds no methods here.
    pub(crate) fn listener(&self) -> impl Service + use<> {
        let voice = self.clone();
        service_fn(move |call: &Call| {
            voice.pushed(call);
            match call.is_notification() {
                true => ReplyFuture::ready(Reply::value(Json::NULL)),
                false => ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str())),
            }
        })
    }

    fn pushed(&self, call: &Call) {
        let method = visible(call.method.as_str());
        let what = if call.is_notification() { "←" } else { "← called" };
        let params = call.params.as_ref().map(|params| visible(&Layout::Line.of(params))).unwrap_or_default();
        match self {
            Voice::Screen(screen) => screen.say(&format!("{PUSHED}{what} {method}{PUSHED:#} {params}")),
            Voice::Pipe(_) => output::note(&format!("{what} {method} {params}\n")),
        }
    }
}

/// The text with its long lines broken between words, whose colours take no room. A word that is longer than a line stays whole.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut current, mut used) = (String::new(), 0);
        for word in line.split_inclusive(' ') {
            let wide = |text: &str| strip_str(text).to_string().width();
            if used > 0 && used + wide(word.trim_end()) > width {
                lines.push(std::mem::take(&mut current).trim_end().to_owned());
                used = 0;
            }
            current.push_str(word);
            used += wide(word);
        }
        lines.push(current);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let check = |text: &str, expected: &str| assert_eq!(wrapped(text, 10), expected, "{text}");
        check("short", "short");
        check("", "");
        check("one two three four", "one two\nthree four");
        check("a word-that-is-long b", "a\nword-that-is-long\nb");
        check("  indented\nand more than a line", "  indented\nand more\nthan a\nline");
        check("\u{1b}[1mone\u{1b}[0m two three", "\u{1b}[1mone\u{1b}[0m two\nthree");
    }
}
