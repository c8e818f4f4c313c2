//! What goes out: answers, stamped with their identifiers.

use std::sync::Arc;

use crate::assembly::Outcome;
use crate::code::Code;
use crate::codec;
use crate::connection::calls::{Done, Place};
use crate::connection::{BYTES_AT_ONCE, Connection, Phase};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::exchange::{note_lost, within};
use crate::id::Id;
use crate::json::Json;
use crate::reply::{Items, Reply};

impl Connection {
    /// Answers a call that is done.
    #[inline]
    pub(super) fn finish(&mut self, done: Done) {
        let Done { version, id, place, reply } = done;
        if id.is_none() {
            note_lost(&reply);
        }
        match (place, id) {
            (Place::Alone, None) => {}
            (Place::Alone, Some(id)) => match self.admit_stream(version, reply) {
                Reply::Value(json) => self.respond(version, &id, Ok(json)),
                Reply::Error(error) => self.respond(version, &id, Err(error)),
                Reply::Stream(items) => {
                    let (subscription, flag) = self.streams.name(&items);
                    self.push(|out| codec::stream_start(out, &id, &subscription, &flag));
                    self.streams.open(subscription, id, items, self.settings.limits.reply);
                }
            },
            (Place::Batch(batch, index), None) => {
                self.finish_entry(batch, index, version, None, Outcome::Value(&Json::NULL));
            }
            (Place::Batch(batch, index), Some(id)) => {
                let reply = self.admit_stream(version, reply);
                let mut finish = |outcome| self.finish_entry(batch, index, version, Some(&id), outcome);
                match reply {
                    Reply::Value(json) => finish(Outcome::Value(&json)),
                    Reply::Error(error) => finish(Outcome::Error(&error)),
                    Reply::Stream(items) => {
                        let (subscription, flag) = self.announce(batch, &id, items);
                        let outcome = Outcome::Stream(&subscription, &flag);
                        self.finish_entry(batch, index, version, Some(&id), outcome);
                    }
                }
            }
        }
    }

    /// Keeps a stream of an entry until the answer to its batch is written (ETH-07, ETH-10).
    fn announce(&mut self, batch: u64, id: &Id, items: Items) -> (Json, Json) {
        let (subscription, flag) = self.streams.name(&items);
        if let Some(state) = self.calls.batch(batch) {
            state.opening.push((subscription.clone(), id.clone(), items));
            self.announced += 1;
        }
        (subscription, flag)
    }

    /// The reply, or an error in the place of a stream that cannot be opened.
    #[inline]
    fn admit_stream(&self, version: Version, reply: Reply) -> Reply {
        if !matches!(reply, Reply::Stream(_)) {
            return reply;
        }
        if version == Version::V1 {
            return ErrorObject::invalid_request("streams need JSON-RPC 2.0").into();
        }
        if !matches!(self.phase, Phase::Open) {
            return ErrorObject::from_code(Code::SHUTTING_DOWN).into();
        }
        if self.streams.len() + self.announced >= self.settings.limits.subscriptions {
            let detail = "too many streams are open (limits.subscriptions)";
            return ErrorObject::over_limit("subscriptions", detail).into();
        }
        reply
    }

    pub(super) fn finish_entry(
        &mut self,
        batch: u64,
        index: usize,
        version: Version,
        id: Option<&Id>,
        outcome: Outcome<'_>,
    ) {
        let settings = Arc::clone(&self.settings);
        let Some(state) = self.calls.batch(batch) else { return };
        match id {
            Some(id) => state.assembly.answer(index, version, id, outcome, &settings.limits),
            None => state.assembly.skip(index, &settings.limits),
        }
        if let Some(state) = self.calls.close_entry(batch) {
            if let Some(answer) = state.assembly.finish() {
                self.push(|out| *out = answer);
            }
            for (subscription, call, items) in state.opening {
                self.announced -= 1;
                self.streams.open(subscription, call, items, settings.limits.reply);
            }
        }
    }

    #[inline]
    pub(super) fn respond(&mut self, version: Version, id: &Id, outcome: Result<Json, ErrorObject>) {
        let outcome = within(outcome, self.settings.limits.reply);
        self.push(|out| codec::response(out, version, id, outcome.as_ref()));
    }

    /// Queues a frame, behind everything that was sent before.
    #[inline]
    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.link.drain_into(&mut *self.sink);
        self.scratch.clear();
        write(&mut self.scratch);
        self.longest = self.longest.max(self.scratch.len());
        self.sink.push(&self.scratch);
        if self.scratch.capacity() > BYTES_AT_ONCE {
            self.scratch = Vec::new();
        }
    }
}
