//! What goes out: answers, stamped with their identifiers.

use std::sync::Arc;

use crate::assembly::Outcome;
use crate::codec;
use crate::connection::calls::{Done, Place};
use crate::connection::{BYTES_AT_ONCE, Connection};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::exchange::{note_lost, within};
use crate::id::Id;
use crate::json::Json;
use crate::reply::Reply;

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
            (Place::Alone, Some(id)) => match self.outcome(version, &id, reply) {
                Outcome::Value(json) => self.respond(version, &id, Ok(json)),
                Outcome::Error(error) => self.respond(version, &id, Err(error)),
                Outcome::Stream(subscription) => {
                    self.push(|out| codec::stream_start(out, &id, &subscription));
                    self.begin_streams();
                }
            },
            (Place::Batch(batch, index), id) => {
                let outcome = match &id {
                    Some(id) => self.outcome(version, id, reply),
                    None => Outcome::Value(Json::NULL),
                };
                self.finish_entry(batch, index, version, id, outcome);
            }
        }
    }

    /// What a reply comes to; a stream gets its identifier and begins later.
    #[inline]
    fn outcome(&mut self, version: Version, id: &Id, reply: Reply) -> Outcome {
        match reply {
            Reply::Value(json) => Outcome::Value(json),
            Reply::Error(error) => Outcome::Error(error),
            Reply::Stream(_) if version == Version::V1 => {
                Outcome::Error(ErrorObject::invalid_request("streams need JSON-RPC 2.0"))
            }
            Reply::Stream(_)
                if self.streams.len() + self.opening.len() >= self.settings.limits.subscriptions =>
            {
                let detail = "too many streams are open (limits.subscriptions)";
                Outcome::Error(ErrorObject::over_limit("subscriptions", detail))
            }
            Reply::Stream(items) => {
                let subscription = self.streams.new_id();
                self.opening.push((subscription.clone(), id.clone(), items));
                Outcome::Stream(subscription)
            }
        }
    }

    pub(super) fn finish_entry(
        &mut self,
        batch: u64,
        index: usize,
        version: Version,
        id: Option<Id>,
        outcome: Outcome,
    ) {
        let settings = Arc::clone(&self.settings);
        let Some(state) = self.calls.batch(batch) else { return };
        match id {
            Some(id) => state.assembly.answer(index, version, id, outcome, &settings.limits),
            None => state.assembly.skip(index, &settings.limits),
        }
        if let Some(state) = self.calls.close_entry(batch) {
            if let Some(answer) = state.assembly.finish() {
                self.link.drain_into(&mut *self.sink);
                self.sink.push(&answer);
            }
            self.begin_streams();
        }
    }

    fn begin_streams(&mut self) {
        for (subscription, call, items) in self.opening.drain(..) {
            self.streams.open(subscription, call, items);
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
        self.sink.push(&self.scratch);
        if self.scratch.capacity() > BYTES_AT_ONCE {
            self.scratch = Vec::new();
        }
    }
}
