//! How messages are framed when they are sent, and where they end when they arrive.
//!
//! Each framing is a plain value that is fed bytes; no socket is involved.

mod http;
mod stream;
mod websocket;

use bytes::Bytes;

pub(crate) use http::{Head, Http};
pub(crate) use stream::Stream;
pub(crate) use websocket::WebSocket;

use super::form::Form;
use super::work::Text;

/// The most bytes that an answer may have.
pub(crate) const LIMIT: usize = 64 << 20;

/// How messages are carried.
#[derive(Debug)]
pub(crate) enum Carrier {
    Http(Http),
    WebSocket(WebSocket),
    Stream(Stream),
}

/// What was received.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// A message.
    Message(Bytes),
    /// What answers a message and is none: why.
    NoAnswer(String),
    /// What is to be sent back at once.
    Echo(Vec<u8>),
    /// The server ends the connection in good order.
    End,
}

impl Carrier {
    /// A text as it is sent.
    pub(crate) fn form(&self, text: &Text) -> Form {
        match self {
            Carrier::Http(http) => http.form(text),
            Carrier::WebSocket(socket) => socket.form(text),
            Carrier::Stream(stream) => stream.form(text),
        }
    }

    /// Takes what arrived.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        match self {
            Carrier::Http(http) => http.feed(bytes),
            Carrier::WebSocket(socket) => socket.feed(bytes),
            Carrier::Stream(stream) => stream.feed(bytes),
        }
    }

    /// The next thing that came, if it is there as a whole.
    ///
    /// # Errors
    ///
    /// When the bytes can no longer be read.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, String> {
        match self {
            Carrier::Http(http) => http.next(),
            Carrier::WebSocket(socket) => socket.next(),
            Carrier::Stream(stream) => stream.next(),
        }
    }

    /// What there is when nothing more will come.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        match self {
            Carrier::Http(http) => http.finish(),
            Carrier::Stream(stream) => stream.finish(),
            Carrier::WebSocket(_) => None,
        }
    }

    /// Whether a message that is not waited for any more can be left behind, and the connection used on.
    pub(crate) fn is_duplex(&self) -> bool {
        !matches!(self, Carrier::Http(_))
    }

    /// What the transport said with the last message, to explain why it is not an answer.
    pub(crate) fn said(&self) -> String {
        match self {
            Carrier::Http(http) => http.said(),
            _ => String::new(),
        }
    }
}
