//! Event streams (`text/event-stream`) both ways: answers in parts, for whoever asks for them.
//!
//! An answer is a list of events, each with one JSON-RPC message as its data, and `[DONE]` as the last. A method that
//! streams gives one response for each item, all with the identifier of the call; any other gives one response. What the
//! handler pushes through `cx.peer()` goes into the same stream. A batch gives one event with the list of its responses.
//!
//! There are two ways to ask for it:
//!
//! - **POST with `Accept: text/event-stream`**, on every path. Where `Accept` takes JSON as well, the higher quality
//!   decides, then what is named rather than covered by a range, then what stands first.
//! - **A path of a [`StreamRoute`](super::StreamRoute)**, by default `/rpc/stream`, by POST, or by GET with the call in the query: `?method=count&id=7&to=3`. See [`Get`](super::Get) for who may do that.
//!
//! In a query `method` names the method and `id` is the identifier, 1 if it is left out. Every other pair is a parameter
//! by name: JSON if it can be read as JSON, otherwise a string. What looks like a number and is to be a string is put in
//! quotes, `zip="01234"`. The answer to a call of this form begins with
//! `{"jsonrpc":"2.0","result":"","id":7,"event":"start"}` if the method streams.
//!
//! While nothing is said, a comment goes out from time to time
//! ([`Options::keep_alive`](super::Options::keep_alive)). A reader that goes away cancels the call. A server that shuts down lets streams go
//! on for most of [`drain_time`](switchboard_core::Limits::drain_time), and ends them with error -32006.

mod body;
mod items;
mod parser;
pub(super) mod query;
mod writer;

pub(super) use self::body::{EventBody, StreamGuard};
pub(super) use self::items::{Reading, open};
pub use self::parser::{Event, Parser, Piece, TooLong};

/// What a client that wants a stream accepts.
pub(super) const ACCEPT: &str = "text/event-stream, application/json;q=0.9";

/// The data of the last event.
const DONE: &str = "[DONE]";

/// The comment that says that the call has a stream for a reply, when its first item is yet to come.
const STARTED: &str = " stream";
