//! How results, errors and what comes by itself are told: to a person on the screen, or to a program in a pipe.

use anstyle::{AnsiColor, Style};
use switchboard::{Call, ErrorObject, Json, Reply, ReplyFuture, Service, service_fn};

use super::screen::Screen;
use crate::failure::Failure;
use crate::layout::{Layout, visible};
use crate::output::{self, Format};

const DIM: Style = Style::new().dimmed();
const PUSHED: Style = AnsiColor::Yellow.on_default();

/// Who is spoken to.
#[derive(Clone)]
pub(crate) enum Voice {
    /// A person.
    Screen(Screen),
    /// A program: results on stdout, one a line, and the rest on stderr.
    Pipe(Format),
}

impl Voice {
    /// Whether it speaks to a person.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self, Voice::Screen(_))
    }

    /// Tells a result.
    pub(crate) fn result(&self, json: &Json) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => screen.say(&Layout::Page.of(json)),
            Voice::Pipe(format) => drop(output::result(json, *format)?),
        }
        Ok(())
    }

    /// Tells an item of the stream with this number.
    pub(crate) fn item(&self, number: usize, json: &Json) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => {
                screen.say(&format!("{PUSHED}#{number}{PUSHED:#} {}", Layout::Page.of(json)));
                Ok(())
            }
            Voice::Pipe(_) => self.result(json),
        }
    }

    /// Tells why something failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        match self {
            Voice::Screen(screen) => screen.say(output::described(failure).trim_end()),
            Voice::Pipe(_) => output::failure(failure),
        }
    }

    /// Tells something by the way.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Voice::Screen(screen) => screen.say(&format!("{DIM}{text}{DIM:#}")),
            Voice::Pipe(_) => output::note(&format!("{text}\n")),
        }
    }

    /// Tells a text that was asked for.
    pub(crate) fn page(&self, text: &str) -> Result<(), Failure> {
        match self {
            Voice::Screen(screen) => screen.say(text.trim_end()),
            Voice::Pipe(_) => drop(output::page(text)?),
        }
        Ok(())
    }

    /// Tells what the far side sends by itself. It finds no methods here.
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
        let what = if call.is_notification() { "←" } else { "← asked for" };
        let params = call.params.as_ref().map(|params| visible(&Layout::Line.of(params))).unwrap_or_default();
        match self {
            Voice::Screen(screen) => screen.say(&format!("{PUSHED}{what} {method}{PUSHED:#} {params}")),
            Voice::Pipe(_) => output::note(&format!("{what} {method} {params}\n")),
        }
    }
}
