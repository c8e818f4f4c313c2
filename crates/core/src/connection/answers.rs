//! Outgoing responses, with their identifiers.

use std::task::Context as Poller;

use crate::call::Call;
use crate::code::Code;
use crate::codec;
use crate::connection::calls::{AnswerSlot, Done, Waiting};
use crate::connection::streams::OpeningStream;
use crate::connection::{BYTES_AT_ONCE, Connection, Phase};
use crate::context::Version;
use crate::engine::{
    ObservedCall, ObservedStart, ReplyLimit, Running, Start, Streaming, end_of_notification, respond,
    respond_with, too_large,
};
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::json::Json;
use crate::observer::Position;
use crate::reply::{Outcome, Reply, ReplyFuture};

/// Single calls.
impl Connection {
    /// Starts the call that was read last, and answers it if it is ready at once.
    #[inline(always)]
    pub(super) fn start_read(&mut self, cx: &mut Poller<'_>) {
        self.scratch.clear();
        match self.calls.engine.begin(&self.calls.call, &mut self.scratch) {
            Start::Answered(_) => self.push_scratch(),
            Start::Silent => {}
            Start::Pending(future, began) => {
                let call = self.calls.take_read();
                self.start_rest(&call, future, began, cx);
            }
        }
    }

    fn start_waiting(&mut self, call: &Call, cx: &mut Poller<'_>) {
        self.scratch.clear();
        match self.calls.engine.begin(call, &mut self.scratch) {
            Start::Answered(_) => self.push_scratch(),
            Start::Silent => {}
            Start::Pending(future, began) => self.start_rest(call, future, began, cx),
        }
    }

    #[inline(never)]
    fn start_rest(
        &mut self,
        call: &Call,
        future: ReplyFuture,
        began: Option<ObservedStart>,
        cx: &mut Poller<'_>,
    ) {
        let engine = &self.calls.engine;
        let watch = began.and_then(|began| began.watch(engine, call));
        let streaming = Streaming::over_session(call, &engine.settings.profile);
        let mut running = Running::new(call, future, streaming, &engine.settings.limits);
        match running.first_step(cx) {
            Some(reply) => {
                let (version, id) = (call.cx.version, call.id().cloned());
                self.finish(Done { version, id, place: AnswerSlot::Alone, reply, watch });
            }
            None => self.calls.spawn(call, running, AnswerSlot::Alone, watch),
        }
    }

    /// Answers a call that is done.
    pub(super) fn finish(&mut self, done: Done) {
        let Done { version, id, place, reply, watch } = done;
        let (reply, is_answered) = self.spell_cancelled(reply);
        let id = id.filter(|_| is_answered);
        match place {
            AnswerSlot::Alone => self.finish_alone(version, id, reply, watch),
            AnswerSlot::Batch(key, index) => {
                let Some(mut state) = self.calls.take_batch(key) else { return };
                self.finish_entry(&mut state, index, (version, id), reply, watch);
                self.keep_or_finish(state);
            }
        }
    }

    /// A cancelled call is answered as the dialect says, if it is answered at all.
    fn spell_cancelled(&self, reply: Reply) -> (Reply, bool) {
        match &reply.outcome {
            Outcome::Error(error) if error.fault == Some(EngineFault::Cancelled) => {
                let error = cancelled(self.settings.profile.cancel.answer);
                (error.into(), self.settings.profile.cancel.answer.is_some())
            }
            _ => (reply, true),
        }
    }

    fn finish_alone(
        &mut self,
        version: Version,
        id: Option<Id>,
        reply: Reply,
        watch: Option<Box<ObservedCall>>,
    ) {
        let Some(id) = id else {
            let end = end_of_notification(&reply.outcome);
            if let Some(watch) = watch {
                watch.end(end, reply.outcome.error(), 0);
            }
            return;
        };
        let members = reply.extra.and_then(|extra| extra.to_members());
        let outcome = match self.admit_stream(version, reply.outcome, members.as_ref()) {
            Outcome::Value(json) => Ok(json),
            Outcome::Error(error) => Err(error),
            Outcome::Stream(items) => {
                let (subscription, flag) = self.streams.name(&items);
                self.scratch.clear();
                codec::stream_start(&mut self.scratch, &id, &subscription, &flag, members.as_ref());
                self.push_scratch();
                let opening = OpeningStream { subscription, call: id.detached(), items, watch };
                return self.streams.open(opening, self.settings.limits.reply, &self.session);
            }
        };
        self.scratch.clear();
        let limit = ReplyLimit::new(self.settings.limits.reply, &self.session);
        let end = respond_with(&mut self.scratch, version, &id, outcome.as_ref(), members.as_ref(), limit);
        if let Some(watch) = watch {
            watch.end(end, outcome.as_ref().err(), self.scratch.len());
        }
        self.push_scratch();
    }

    /// The reply, or an error in the place of a stream that cannot be opened.
    #[inline]
    pub(super) fn admit_stream(&self, version: Version, outcome: Outcome, members: Option<&Json>) -> Outcome {
        if !matches!(outcome, Outcome::Stream(_)) {
            return outcome;
        }
        if version == Version::V1 {
            return Outcome::Error(ErrorObject::invalid_request("streams need JSON-RPC 2.0"));
        }
        if !matches!(self.phase, Phase::Open) {
            return Outcome::Error(ErrorObject::from_code(Code::SHUTTING_DOWN));
        }
        if self.streams.len() >= self.settings.limits.subscriptions {
            let detail = "too many streams are open (limits.subscriptions)";
            return Outcome::Error(ErrorObject::over_limit("subscriptions", detail));
        }
        let limit = self.settings.limits.reply;
        if members.is_some_and(|members| members.as_bytes().len() > limit) {
            return Outcome::Error(too_large(limit));
        }
        outcome
    }

    /// Answers something that did not become a call.
    pub(super) fn refuse(&mut self, version: Version, id: &Id, error: &ErrorObject) {
        self.scratch.clear();
        let limit = ReplyLimit::new(self.settings.limits.reply, &self.session);
        respond(&mut self.scratch, version, id, Err(error), limit);
        self.push_scratch();
    }

    /// Queues what was just written, behind everything that was sent before.
    #[inline]
    pub(super) fn push_scratch(&mut self) {
        self.remote.drain_into(&mut *self.sink);
        self.longest = self.longest.max(self.scratch.len());
        self.unsent.answers += self.scratch.len();
        self.sink.push(&self.scratch);
        if self.scratch.capacity() > BYTES_AT_ONCE {
            self.scratch = Vec::new();
        }
    }
}

/// The error of a call that was cancelled.
pub(super) fn cancelled(answer: Option<Code>) -> ErrorObject {
    ErrorObject::from_code(answer.unwrap_or(Code::CANCELLED)).with_fault(EngineFault::Cancelled)
}

/// Calls and batches that wait, and those that are given up.
impl Connection {
    /// Starts what waits and can be started.
    pub(super) fn advance(&mut self, cx: &mut Poller<'_>) {
        while let Some(next) = self.calls.next_waiting() {
            match next {
                Waiting::Call(call) => self.start_waiting(&call, cx),
                Waiting::Batch(key) => {
                    let Some(mut state) = self.calls.take_batch(key) else { continue };
                    if state.running >= self.settings.limits.batch_concurrency.max(1) {
                        self.calls.keep_batch(state);
                        continue;
                    }
                    let stop = state.batch.advance(|call| self.is_control(call));
                    self.run_batch(state, stop, cx);
                    if self.is_paused {
                        break;
                    }
                }
            }
        }
    }

    /// Answers every call that has not ended: those that wait were refused, and those that run are stopped.
    pub(super) fn give_up_calls(&mut self) {
        let error = &ErrorObject::from_code(Code::SHUTTING_DOWN);
        while let Some(waiting) = self.calls.give_up_waiting() {
            if let Waiting::Call(call) = waiting {
                self.calls.engine.note_refused_call(&call, error, Position::Alone);
                if let Some(id) = call.id() {
                    self.refuse(call.cx.version, id, error);
                }
            }
        }
        for key in self.calls.batch_keys() {
            let Some(mut state) = self.calls.take_batch(key) else { continue };
            self.settle_ahead(&mut state.batch, Some(error));
            self.keep_or_finish(state);
        }
        while let Some(done) = self.calls.abort_next(&ErrorObject::stopped()) {
            self.finish(done);
        }
    }
}
