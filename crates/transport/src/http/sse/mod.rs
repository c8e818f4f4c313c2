//! Event streams (`text/event-stream`) both ways: answers in parts, for whoever asks for them.
//!
//! An answer is a list of events, each with one JSON-RPC message as its data, and `[DONE]` as the last. A method that
//! streams gives one response for each item, all with the identifier of the call; any other gives one response. What the
//! handler pushes through `cx.peer()` goes into the same stream. A batch gives one event with the list of its responses.
//!
//! There are two ways to ask for it:
//!
//! - **POST with `Accept: text/event-stream`**, on every path. Where `Accept` takes JSON as well, the answer is JSON unless there is
//!   more to say: it becomes an event stream when the method streams, or pushes something before it returns. Which of the two is
//!   preferred (the higher quality, then what is named rather than covered by a range, then what stands first) decides for
//!   methods that can do both.
//! - **A path of a [`StreamRoute`](super::StreamRoute)**, by default `/rpc/stream`, by POST, or by GET with the call in the query: `?method=count&id=7&to=3`. See [`Get`](super::Get) for who may do that.
//!
//! In a query `method` names the method and `id` is the identifier, 1 if it is left out. Every other pair is a parameter
//! by name: JSON if it can be read as JSON, otherwise a string. What looks like a number and is to be a string is put in
//! quotes, `zip="01234"`. The answer to a call of this form begins with
//! `{"jsonrpc":"2.0","result":"","id":7,"event":"start"}` if the method streams.
//!
//! Our client asks for events where a stream or progress is wanted, and reads both formats whatever it asked for. A plain
//! call that gets events waits for the end of the answer: one response is its result; several, or what was announced as a stream,
//! become an array, as in JSON. A stream that our server announced ends with `[DONE]`, or it was cut off. Any other may
//! simply end after a response.
//!
//! While nothing is said, a comment goes out from time to time
//! ([`Options::keep_alive`](super::Options::keep_alive)). A reader that goes away cancels the call. A server that shuts down lets streams go
//! on for most of [`drain_time`](switchboard_core::Limits::drain_time), and ends them with error -32006.

mod body;
mod items;
mod messages;
mod parser;
pub(super) mod query;
mod writer;

pub(super) use self::body::{EventBody, StreamGuard};
pub(super) use self::items::{collect, gather, open, too_large};
pub(super) use self::messages::Reading;
pub use self::parser::{Event, Parser, Piece, TooLong};

/// What a client accepts that wants a stream, or progress.
pub(super) const ACCEPT: &str = "text/event-stream, application/json;q=0.9";

/// The data of the last event.
const DONE: &str = "[DONE]";

/// The comment that says that the call has a stream for a reply, when its first item is yet to come.
const STARTED: &str = " stream";
