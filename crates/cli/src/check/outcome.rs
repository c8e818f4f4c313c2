//! The answers a case can get, and whether they match what it expects.

use std::fmt;

use serde_json::Value;

use super::message::{Message, Response};
use crate::responses::Head;
use crate::same::same;

/// How a case ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Came {
    /// The messages, except requests and notifications from the server.
    pub(crate) messages: Vec<Message>,
    /// How it ended.
    pub(crate) end: End,
    /// The head of the response, over HTTP.
    pub(crate) head: Option<Head>,
    /// The first text that was declared as JSON and is not, or not only: what is wrong with it, and the text.
    pub(crate) flaw: Option<(&'static str, String)>,
}

impl Came {
    /// Adds a message, unless it is a request or notification from the server.
    pub(crate) fn take(&mut self, text: &[u8]) {
        let (message, flaw) = Message::read(text);
        if !message.is_call() {
            self.take_read(message, flaw, text);
        }
    }

    /// Adds a message that was read.
    pub(crate) fn take_read(&mut self, message: Message, flaw: Option<&'static str>, text: &[u8]) {
        self.note_flaw(flaw, text);
        self.messages.push(message);
    }

    /// Records what is wrong with a text.
    pub(crate) fn note_flaw(&mut self, flaw: Option<&'static str>, text: &[u8]) {
        if let Some(flaw) = flaw
            && self.flaw.is_none()
        {
            self.flaw = Some((flaw, shortened(&String::from_utf8_lossy(text), 200)));
        }
    }

    /// Whether a message could not be read at all.
    pub(crate) fn is_garbage(&self) -> bool {
        self.flaw.is_some() && self.messages.iter().any(|message| matches!(message, Message::Garbage(_)))
    }
}

/// How a case ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// The server keeps answering.
    #[default]
    Open,
    /// The server closed the connection.
    Closed,
    /// Nothing arrived in time, not even the answer to the valid call that followed.
    Silent,
    /// It could not be sent.
    Unsent(String),
}

/// One answer that is accepted.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// One response object.
    One(Pattern),
    /// An array of exactly these, in any order.
    Array(Vec<Pattern>),
    /// Exactly these responses, each as a separate message, in any order.
    Each(Vec<Pattern>),
    /// No answer.
    Nothing,
    /// The connection is closed, possibly after an error.
    Closed,
    /// An HTTP response with one of these statuses, whatever its body.
    Status(&'static [u16]),
    /// HTTP status 202 without a body; over other transports no answer.
    Accepted,
    /// An event stream over HTTP.
    Events,
    /// One response object, over HTTP with this status.
    Refused(u16, Pattern),
}

/// What a response has to look like.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(super) kind: Kind,
    pub(super) id: Back,
}

/// What a response has to contain.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// An error with one of these codes; with any code if there are none.
    Error(&'static [i64]),
    Result,
    Value(String),
    Echo(String),
    Either,
    OldError,
    OldResult,
    /// A result of this shape, in words and as a test.
    Shape(&'static str, Shape),
}

/// Whether a result has the shape that it should have; otherwise what is wrong with it.
pub(crate) type Shape = fn(&Value) -> Result<(), String>;

/// The identifier of the response.
#[derive(Clone, Debug)]
pub(crate) enum Back {
    /// This JSON.
    Id(&'static str),
    /// This JSON, or null.
    OrNull(&'static str),
}

/// An error with one of these codes and this identifier. Without codes, any is accepted.
pub(crate) fn error(codes: &'static [i64], id: &'static str) -> Pattern {
    Pattern { kind: Kind::Error(codes), id: Back::Id(id) }
}

/// A result with this identifier.
pub(crate) fn result(id: &'static str) -> Pattern {
    Pattern { kind: Kind::Result, id: Back::Id(id) }
}

/// This result.
pub(crate) fn value(json: &str, id: &'static str) -> Pattern {
    Pattern { kind: Kind::Value(json.to_owned()), id: Back::Id(id) }
}

/// This result, or an array of it.
pub(crate) fn echo(json: &str, id: &'static str) -> Pattern {
    Pattern { kind: Kind::Echo(json.to_owned()), id: Back::Id(id) }
}

/// A result or an error, with this identifier.
pub(crate) fn answer(id: &'static str) -> Pattern {
    Pattern { kind: Kind::Either, id: Back::Id(id) }
}

/// A result of this shape.
pub(crate) fn shaped(what: &'static str, shape: Shape, id: &'static str) -> Pattern {
    Pattern { kind: Kind::Shape(what, shape), id: Back::Id(id) }
}

/// An error response of version 1.0.
pub(crate) fn old_error(id: &'static str) -> Pattern {
    Pattern { kind: Kind::OldError, id: Back::Id(id) }
}

/// A successful response of version 1.0.
pub(crate) fn old_result(id: &'static str) -> Pattern {
    Pattern { kind: Kind::OldResult, id: Back::Id(id) }
}

impl Pattern {
    /// The same, or with null as the identifier.
    pub(crate) fn or_null(mut self) -> Pattern {
        if let Back::Id(id) = self.id {
            self.id = Back::OrNull(id);
        }
        self
    }

    /// Whether the identifier is correct.
    pub(super) fn has_its_id(&self, response: &Response) -> bool {
        match &self.id {
            Back::Id(id) => response.has_id(id),
            Back::OrNull(id) => response.has_id(id) || response.has_id("null"),
        }
    }

    /// Whether the response matches.
    pub(super) fn fits(&self, response: &Response) -> bool {
        self.has_its_id(response) && self.has_its_kind(response)
    }

    /// Whether it contains what it should, whatever its identifier.
    pub(super) fn has_its_kind(&self, response: &Response) -> bool {
        let members = |names: [&str; 3]| {
            let object = response.value.as_object();
            object.is_some_and(|object| {
                object.len() == 3 && names.iter().all(|name| object.contains_key(*name))
            })
        };
        let old = ["result", "error", "id"];
        match &self.kind {
            Kind::Error(codes) => {
                response.code().is_some_and(|code| codes.is_empty() || codes.contains(&code))
            }
            Kind::Result => response.result.is_some() && !response.is_error(),
            Kind::Value(json) => response.result.as_deref().is_some_and(|own| same(own, json)),
            Kind::Echo(json) => response
                .result
                .as_deref()
                .is_some_and(|own| same(own, json) || same(own, &format!("[{json}]"))),
            Kind::Either => response.result.is_some() || response.is_error(),
            Kind::OldError => {
                members(old) && response.is_error() && response.result.as_deref() == Some("null")
            }
            Kind::OldResult => members(old) && !response.is_error(),
            Kind::Shape(_, shape) => response.value.get("result").is_some_and(|it| shape(it).is_ok()),
        }
    }
}

impl Outcome {
    /// Whether this is the answer that came.
    pub(crate) fn fits(&self, came: &Came) -> bool {
        let is_open = came.end == End::Open;
        match (self, came.messages.as_slice()) {
            (Outcome::One(pattern), [Message::One(response)]) => pattern.fits(response),
            (Outcome::Array(patterns), [Message::Many(responses)]) => {
                all_fit(patterns, responses.iter().collect())
            }
            (Outcome::Each(patterns), messages) => {
                let is_single = |message: &Message| matches!(message, Message::One(_));
                messages.iter().all(is_single)
                    && all_fit(patterns, messages.iter().flat_map(Message::responses).collect())
            }
            (Outcome::Nothing, []) => is_open && came.head.as_ref().is_none_or(|head| head.status < 400),
            (Outcome::Closed, []) => came.end == End::Closed,
            (Outcome::Closed, [Message::One(response)]) => came.end == End::Closed && response.is_error(),
            (Outcome::Status(statuses), _) => {
                came.head.as_ref().is_some_and(|head| statuses.contains(&head.status))
            }
            (Outcome::Accepted, []) => is_open && came.head.as_ref().is_none_or(|head| head.status == 202),
            (Outcome::Events, _) => {
                came.head.as_ref().is_some_and(|head| head.status == 200 && head.is_stream)
            }
            (Outcome::Refused(status, pattern), [Message::One(response)]) => {
                pattern.fits(response) && came.head.as_ref().is_none_or(|head| head.status == *status)
            }
            _ => false,
        }
    }

    /// Whether it contains an error object of version 2.0.
    pub(crate) fn has_error(&self) -> bool {
        let is_error = |pattern: &Pattern| matches!(pattern.kind, Kind::Error(_));
        match self {
            Outcome::One(pattern) | Outcome::Refused(_, pattern) => is_error(pattern),
            Outcome::Array(patterns) | Outcome::Each(patterns) => patterns.iter().any(is_error),
            Outcome::Nothing | Outcome::Closed | Outcome::Status(_) | Outcome::Accepted | Outcome::Events => {
                false
            }
        }
    }

    /// How many messages it has, as far as that is known.
    pub(crate) fn messages(&self) -> usize {
        match self {
            Outcome::One(_) | Outcome::Array(_) | Outcome::Refused(..) => 1,
            Outcome::Each(patterns) => patterns.len(),
            Outcome::Nothing | Outcome::Closed | Outcome::Status(_) | Outcome::Accepted | Outcome::Events => {
                0
            }
        }
    }
}

/// Whether each pattern matches a different response, and no response is left over.
fn all_fit(patterns: &[Pattern], mut responses: Vec<&Response>) -> bool {
    for pattern in patterns {
        let Some(index) = responses.iter().position(|response| pattern.fits(response)) else { return false };
        responses.swap_remove(index);
    }
    responses.is_empty()
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Error(codes) => {
                let codes: Vec<String> = codes.iter().map(i64::to_string).collect();
                match codes.is_empty() {
                    true => f.write_str("an error with a code,")?,
                    false => write!(f, "error {}", codes.join(" or "))?,
                }
            }
            Kind::Result => f.write_str("a result")?,
            Kind::Value(json) | Kind::Echo(json) => write!(f, "the result {}", shortened(json, 60))?,
            Kind::Either => f.write_str("a response")?,
            Kind::OldError => f.write_str("a 1.0 error")?,
            Kind::OldResult => f.write_str("a 1.0 result")?,
            Kind::Shape(what, _) => write!(f, "the result {what},")?,
        }
        match &self.id {
            Back::Id(id) => write!(f, " with id {}", shortened(id, 40)),
            Back::OrNull(id) => write!(f, " with id {} or null", shortened(id, 40)),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |patterns: &[Pattern]| match patterns {
            [first, _, _, _, ..] => format!("{} responses such as {first}", patterns.len()),
            _ => patterns.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", "),
        };
        match self {
            Outcome::One(pattern) => write!(f, "{pattern}"),
            Outcome::Array(patterns) => write!(f, "an array of {}", list(patterns)),
            Outcome::Each(patterns) => write!(f, "separate messages: {}", list(patterns)),
            Outcome::Nothing => f.write_str("no answer"),
            Outcome::Closed => f.write_str("the connection is closed"),
            Outcome::Accepted => f.write_str("no answer; over HTTP status 202"),
            Outcome::Events => f.write_str("an event stream"),
            Outcome::Refused(status, pattern) => write!(f, "{pattern}; over HTTP status {status}"),
            Outcome::Status(statuses) => {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                write!(f, "HTTP status {}", statuses.join(" or "))
            }
        }
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(head) = &self.head {
            write!(f, "{} ", head.status)?;
        }
        let texts: Vec<String> = self.messages.iter().map(Message::text).collect();
        f.write_str(&shortened(&texts.join(" "), 1000))?;
        let end = match &self.end {
            End::Open if self.messages.is_empty() && self.head.is_some() => "without a body",
            End::Open if self.messages.is_empty() => "no answer",
            End::Open => "",
            End::Closed => " the connection was closed",
            End::Silent => " no further answer in time, not even to a valid call",
            End::Unsent(why) => why,
        };
        f.write_str(if self.messages.is_empty() { end.trim_start() } else { end })
    }
}

/// A text cut to fit a line of a report.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{start}… ({count} characters)")
}
