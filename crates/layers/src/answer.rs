//! Replies that several callers get.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::{ErrorObject, Extra, Json, Outcome, Reply};

/// The reply to a call that several callers wait for.
#[derive(Clone)]
pub(crate) enum Answer {
    /// All of them get it.
    Shared(SharedReply),
    /// The first that takes it gets it.
    Single(Arc<Mutex<Option<Reply>>>),
}

/// A value or an error, and what travels beside it.
#[derive(Clone)]
pub(crate) struct SharedReply {
    pub(crate) outcome: Result<Json, ErrorObject>,
    pub(crate) extra: Option<Box<Extra>>,
}

impl Answer {
    /// Shares a value or an error. A stream has one reader.
    pub(crate) fn new(reply: Reply) -> Answer {
        let Reply { outcome, extra } = reply;
        match outcome {
            Outcome::Value(json) => Answer::Shared(SharedReply { outcome: Ok(json), extra }),
            Outcome::Error(error) => Answer::Shared(SharedReply { outcome: Err(error), extra }),
            outcome @ Outcome::Stream(_) => Answer::single(Reply { outcome, extra }),
        }
    }

    pub(crate) fn single(reply: Reply) -> Answer {
        Answer::Single(Arc::new(Mutex::new(Some(reply))))
    }

    /// The reply. None if another caller has it.
    pub(crate) fn into_reply(self) -> Option<Reply> {
        match self {
            Answer::Shared(reply) => Some(reply.into_reply()),
            Answer::Single(reply) => reply.lock().unwrap_or_else(PoisonError::into_inner).take(),
        }
    }
}

impl SharedReply {
    pub(crate) fn into_reply(self) -> Reply {
        Reply { outcome: self.outcome.map_or_else(Outcome::Error, Outcome::Value), extra: self.extra }
    }
}
