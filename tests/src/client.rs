//! A client as the vectors see it: something that waits for an answer and hears one.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::codec::{Incoming, Message, Outcome, decode};
use switchboard_core::{ErrorObject, Id, Json, Settings};

/// A client with one call under way, whose identifier is 1.
pub trait Client: Sync {
    /// The name that failures are told by.
    fn name(&self) -> &'static str;

    /// Lets it hear this, and tells what it makes of it.
    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict>;
}

/// What became of the call.
#[derive(Debug)]
pub enum Verdict {
    /// It has this result.
    Accepted(Json),
    /// It failed with this error of the far side.
    Failed(ErrorObject),
    /// It still waits: the message was dropped.
    Ignored,
    /// The connection ended.
    Closed,
}

/// Every client there is. A client of a connection joins here.
#[must_use]
pub fn clients() -> Vec<&'static dyn Client> {
    vec![&Codec]
}

/// The codec alone, with the least a client does beside: comparing identifiers.
struct Codec;

impl Client for Codec {
    fn name(&self) -> &'static str {
        "codec"
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let Ok(Incoming::Single(Message::Response(response))) = decode(&reply, &Settings::default())
            else {
                return Verdict::Closed;
            };
            if response.id != Id::from(1) {
                return Verdict::Ignored;
            }
            match response.outcome {
                Outcome::Value(json) | Outcome::Stream(json) => Verdict::Accepted(json),
                Outcome::Error(error) => Verdict::Failed(error),
                Outcome::Broken(_) => Verdict::Closed,
            }
        })
    }
}
