//! What goes out: answers, stamped with their identifiers.

use std::task::Context as Poller;

use crate::call::Call;
use crate::code::Code;
use crate::codec::{self, Entries, Message};
use crate::connection::calls::{BatchState, Done, Place, Waiting};
use crate::connection::streams::OpeningStream;
use crate::connection::{BYTES_AT_ONCE, Connection, Phase};
use crate::context::Version;
use crate::engine::{
    Batch, Began, Begun, EntryOutcome, Running, Stop, Streaming, Watch, end_of_notification, respond,
    respond_with, too_large,
};
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::json::Json;
use crate::observer::{InputKind, Position};
use crate::reply::{Outcome, Reply, ReplyFuture};

/// Single calls.
impl Connection {
    /// Starts the call that was read last, and answers it if it is ready at once.
    #[inline(always)]
    pub(super) fn start_read(&mut self, cx: &mut Poller<'_>) {
        self.scratch.clear();
        match self.calls.engine.begin(&self.calls.call, &mut self.scratch) {
            Begun::Answered(_) => self.push_scratch(),
            Begun::Silent => {}
            Begun::Pending(future, began) => {
                let call = self.calls.take_read();
                self.start_rest(&call, future, began, cx);
            }
        }
    }

    fn start_waiting(&mut self, call: &Call, cx: &mut Poller<'_>) {
        self.scratch.clear();
        match self.calls.engine.begin(call, &mut self.scratch) {
            Begun::Answered(_) => self.push_scratch(),
            Begun::Silent => {}
            Begun::Pending(future, began) => self.start_rest(call, future, began, cx),
        }
    }

    #[inline(never)]
    fn start_rest(&mut self, call: &Call, future: ReplyFuture, began: Option<Began>, cx: &mut Poller<'_>) {
        let engine = &self.calls.engine;
        let watch = began.and_then(|began| began.watch(engine, call));
        let streaming = Streaming::over_session(call, &engine.settings.profile);
        let mut running = Running::new(call, future, streaming, &engine.settings.limits);
        match running.first_step(cx) {
            Some(reply) => {
                let (version, id) = (call.cx.version, call.id().cloned());
                self.finish(Done { version, id, place: Place::Alone, reply, watch });
            }
            None => self.calls.spawn(call, running, Place::Alone, watch),
        }
    }

    /// Answers a call that is done.
    pub(super) fn finish(&mut self, done: Done) {
        let Done { version, id, place, reply, watch } = done;
        let (reply, is_answered) = self.spell_cancelled(reply);
        let id = id.filter(|_| is_answered);
        match place {
            Place::Alone => self.finish_alone(version, id, reply, watch),
            Place::Batch(key, index) => {
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

    fn finish_alone(&mut self, version: Version, id: Option<Id>, reply: Reply, watch: Option<Box<Watch>>) {
        let Some(id) = id else {
            let end = end_of_notification(&reply.outcome);
            if let Some(watch) = watch {
                watch.end(end, 0);
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
                let limit = self.settings.limits.reply;
                return self
                    .streams
                    .open(OpeningStream { subscription, call: id.detached(), items, watch }, limit);
            }
        };
        self.scratch.clear();
        let limit = self.settings.limits.reply;
        let end = respond_with(&mut self.scratch, version, &id, outcome.as_ref(), members.as_ref(), limit);
        if let Some(watch) = watch {
            watch.end(end, self.scratch.len());
        }
        self.push_scratch();
    }

    /// The reply, or an error in the place of a stream that cannot be opened.
    #[inline]
    fn admit_stream(&self, version: Version, outcome: Outcome, members: Option<&Json>) -> Outcome {
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
        respond(&mut self.scratch, version, id, Err(error), self.settings.limits.reply);
        self.push_scratch();
    }

    /// Queues what was just written, behind everything that was sent before.
    #[inline]
    pub(super) fn push_scratch(&mut self) {
        self.remote.drain_into(&mut *self.sink);
        self.longest = self.longest.max(self.scratch.len());
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

/// Batches.
impl Connection {
    /// Handles a batch that was received: runs it, has it wait, or refuses its calls.
    pub(super) fn take_batch(&mut self, entries: Entries, bytes: usize, cx: &mut Poller<'_>) {
        let engine = self.calls.engine.clone();
        let id = engine.name_batch();
        engine.note_received(&self.calls.cx, bytes, InputKind::Batch(entries.len()), Some(id));
        let mut batch = Batch::new(engine, entries, self.calls.cx.clone(), id);
        if let Some(error) = self.refusal() {
            self.settle_ahead(&mut batch, Some(&error));
            return self.write_batch(batch);
        }
        if !self.calls.is_clear() {
            let mut state = self.calls.admit_batch(batch);
            self.settle_ahead(&mut state.batch, None);
            state.is_settled = true;
            self.calls.wait_batch(state.key);
            return self.calls.keep_batch(state);
        }
        // Looked up once: nothing in this loop opens a stream.
        let (names, has_streams) = (self.calls.engine.control_names(), self.streams.len() > 0);
        let is_control = |call: &Call| {
            let may_be = has_streams || call.is_notification() || names.may_have(&call.method);
            may_be && self.is_control_by_name(call)
        };
        match batch.advance(is_control) {
            Stop::Finished if batch.is_done() => self.write_batch(batch),
            stop => {
                let state = self.calls.admit_batch(batch);
                self.run_batch(state, stop, cx);
            }
        }
    }

    /// Goes on with a batch that stopped, until everything is started or has to wait.
    fn run_batch(&mut self, mut state: BatchState, mut stop: Stop, cx: &mut Poller<'_>) {
        loop {
            match stop {
                Stop::Finished => break,
                Stop::Pause => {
                    self.settle_rest(&mut state);
                    self.calls.wait_first(state.key);
                    self.is_paused = true;
                    break;
                }
                Stop::Other(index, message) => self.settle_other(&mut state.batch, index, *message),
                Stop::Control(index) => self.settle_control(&mut state.batch, index),
                Stop::Waiting(index, future, watch) => self.start_entry(&mut state, index, future, watch, cx),
            }
            if self.calls.has_barrier() {
                self.settle_rest(&mut state);
                self.calls.wait_first(state.key);
                break;
            }
            if state.running >= self.settings.limits.batch_concurrency.max(1) {
                self.settle_rest(&mut state);
                break;
            }
            stop = state.batch.advance(|call| self.is_control(call));
        }
        self.keep_or_finish(state);
    }

    /// Starts the entry that the batch stopped for.
    fn start_entry(
        &mut self,
        state: &mut BatchState,
        index: usize,
        future: ReplyFuture,
        watch: Option<Box<Watch>>,
        cx: &mut Poller<'_>,
    ) {
        let call = state.batch.call().clone();
        let streaming = Streaming::over_session(&call, &self.settings.profile);
        let mut running = Running::new(&call, future, streaming, &self.settings.limits);
        match running.first_step(cx) {
            Some(reply) => {
                let to = (call.cx.version, call.id().cloned());
                self.finish_entry(state, index, to, reply, watch);
            }
            None => {
                state.running += 1;
                self.calls.spawn(&call, running, Place::Batch(state.key, index), watch);
            }
        }
    }

    fn finish_entry(
        &mut self,
        state: &mut BatchState,
        index: usize,
        (version, id): (Version, Option<Id>),
        reply: Reply,
        watch: Option<Box<Watch>>,
    ) {
        let Some(id) = id else { return state.batch.note_done(index, &reply.outcome, watch) };
        let members = reply.extra.and_then(|extra| extra.to_members());
        let outcome = match self.admit_stream(version, reply.outcome, members.as_ref()) {
            Outcome::Stream(items) => {
                match members.as_ref().and_then(|members| state.batch.excess(members)) {
                    Some(error) => Outcome::Error(error),
                    None => Outcome::Stream(items),
                }
            }
            outcome => outcome,
        };
        match outcome {
            Outcome::Value(json) => {
                let outcome = EntryOutcome::with(Ok(&json), members.as_ref());
                state.batch.answer(index, version, &id, outcome, watch);
            }
            Outcome::Error(error) => {
                let outcome = EntryOutcome::with(Err(&error), members.as_ref());
                state.batch.answer(index, version, &id, outcome, watch);
            }
            Outcome::Stream(items) => {
                // It begins once the answer to the batch is written (ETH-07, ETH-10).
                let (subscription, flag) = self.streams.name(&items);
                let outcome = EntryOutcome::Stream(&subscription, &flag, members.as_ref());
                state.batch.answer(index, version, &id, outcome, None);
                let opening = OpeningStream { subscription, call: id.detached(), items, watch };
                self.streams.announce(state.key, opening);
            }
        }
    }

    /// Writes the answer to a batch if it is complete, and keeps the batch otherwise.
    fn keep_or_finish(&mut self, state: BatchState) {
        if !state.batch.is_done() {
            return self.calls.keep_batch(state);
        }
        self.calls.retire_batch();
        self.write_batch(state.batch);
        self.streams.open_announced(state.key, self.settings.limits.reply);
    }

    /// Writes the answer to this batch if it is complete.
    pub(super) fn finish_batch(&mut self, key: u64) {
        if let Some(state) = self.calls.take_batch(key) {
            self.keep_or_finish(state);
        }
    }

    fn write_batch(&mut self, batch: Batch) {
        if let Some(answer) = batch.finish() {
            self.scratch = answer;
            self.push_scratch();
        }
    }

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

    /// Answers every call that has not ended with this error.
    pub(super) fn give_up_calls(&mut self, error: &ErrorObject) {
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
        while let Some(done) = self.calls.abort_next(error) {
            self.finish(done);
        }
    }
}

/// Entries that are not calls, and those that are settled before their turn.
impl Connection {
    /// Settles the messages for the session itself among the entries that were not started, once: a notification must not
    /// hold back the response that it waits for.
    fn settle_rest(&mut self, state: &mut BatchState) {
        if !std::mem::replace(&mut state.is_settled, true) {
            self.settle_ahead(&mut state.batch, None);
        }
    }

    /// Settles what is for the session itself among the entries that were not started; refuses the others, if they are to be.
    #[cold]
    fn settle_ahead(&mut self, batch: &mut Batch, refusal: Option<&ErrorObject>) {
        for index in batch.unstarted() {
            match batch.look(index) {
                None => {}
                Some(Ok(())) if self.is_control(batch.call()) => {
                    batch.mark_early(index);
                    self.settle_control(batch, index);
                }
                Some(Ok(())) => {
                    if let Some(error) = refusal {
                        batch.mark_early(index);
                        batch.refuse_call(index, error);
                    }
                }
                Some(Err(message)) => {
                    batch.mark_early(index);
                    self.settle_other(batch, index, *message);
                }
            }
        }
    }

    fn settle_control(&mut self, batch: &mut Batch, index: usize) {
        let call = batch.call().clone();
        let answer = self.control(&call, Some(batch));
        // Another entry may have been looked at.
        match (answer, call.id()) {
            (Some(json), Some(id)) => {
                batch.answer(index, call.cx.version, id, EntryOutcome::Value(&json), None);
            }
            _ => batch.skip(index),
        }
    }

    fn settle_other(&mut self, batch: &mut Batch, index: usize, message: Message) {
        match message {
            Message::Response(response) => {
                self.remote.complete(response);
                batch.skip(index);
            }
            other => batch.refuse(index, &other),
        }
    }
}
