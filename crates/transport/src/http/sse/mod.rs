//! Event streams (`text/event-stream`) in both directions: answers in parts, for clients that ask for them.
//!
//! An answer is a list of events, each with one JSON-RPC message as its data, and `[DONE]` as the last. A method that
//! streams sends one response for each item, all with the identifier of the call; any other sends one response. Notifications that the
//! handler pushes through `cx.peer()` go into the same stream. A batch is one event with the array of its responses.
//!
//! There are two ways to ask for it:
//!
//! - **POST with `Accept: text/event-stream`**, on every path. If `Accept` allows JSON as well, the answer is JSON unless there is
//!   more to send: it becomes an event stream when the method streams, or pushes something before it returns. Which of the two is
//!   preferred (the higher quality, then a named type over a range, then the first one) decides for
//!   methods that can do both.
//! - **A path of a [`StreamRoute`](super::StreamRoute)**, by default `/rpc/stream`, with POST, or with GET and the call in the query: `?method=count&id=7&to=3`. See [`Get`](super::Get) for which methods.
//!
//! In a query `method` is the method and `id` the identifier, 1 by default. Every other pair is a parameter
//! by name: JSON if it parses as JSON, otherwise a string. To pass a number as a string, put it in
//! quotes: `zip="01234"`. The answer to such a call starts with
//! `{"jsonrpc":"2.0","result":"","id":7,"event":"start"}` if the method streams.
//!
//! Our client asks for events if it wants a stream or progress, and reads both formats whatever it asked for. A plain
//! call that gets events waits for the end of the answer: one response is its result; several, or an announced stream,
//! become an array, as in JSON. A stream that our server announced ends with `[DONE]`, or else it is incomplete. Any other may
//! simply end after a response.
//!
//! During silence, a comment is sent from time to time
//! ([`EndpointOptions::keep_alive`](super::EndpointOptions::keep_alive)). A reader that disconnects cancels the call. A server
//! that shuts down ends streams at once, with error -32006 and `[DONE]`. Calls without a reply yet get most of
//! [`drain_time`](switchboard_core::Limits::drain_time).

mod body;
mod messages;
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
pub(crate) mod parser;
pub(super) mod query;
mod stopping;
mod writer;

pub(super) use self::body::{EventBody, StreamGuard};
pub(super) use self::messages::{Messages, Reading};
use self::parser::{Parser, Piece};

/// What a client accepts that wants a stream, or progress.
pub(super) const ACCEPT: &str = "text/event-stream, application/json;q=0.9";

/// The data of the last event.
const DONE: &str = "[DONE]";

/// The comment that says that the call has a stream for a reply, when its first item is yet to come.
const STARTED: &str = " stream";
