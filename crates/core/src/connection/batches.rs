//! Batches of the peer: run, held back, or rejected entry by entry.

use std::task::Context as Poller;

use crate::call::Call;
use crate::codec::{Entries, Message};
use crate::connection::Connection;
use crate::connection::calls::{AnswerSlot, BatchState};
use crate::connection::streams::OpeningStream;
use crate::context::Version;
use crate::engine::{Batch, EntryOutcome, ObservedCall, Running, Stop, Streaming};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::observer::InputKind;
use crate::reply::{Outcome, Reply, ReplyFuture};

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
    pub(super) fn run_batch(&mut self, mut state: BatchState, mut stop: Stop, cx: &mut Poller<'_>) {
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
        watch: Option<Box<ObservedCall>>,
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
                self.calls.spawn(&call, running, AnswerSlot::Batch(state.key, index), watch);
            }
        }
    }

    pub(super) fn finish_entry(
        &mut self,
        state: &mut BatchState,
        index: usize,
        (version, id): (Version, Option<Id>),
        reply: Reply,
        watch: Option<Box<ObservedCall>>,
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
    pub(super) fn keep_or_finish(&mut self, state: BatchState) {
        if !state.batch.is_done() {
            return self.calls.keep_batch(state);
        }
        self.calls.retire_batch();
        self.write_batch(state.batch);
        self.streams.open_announced(state.key, self.settings.limits.reply, &self.session);
    }

    /// Writes the answer to this batch if it is complete.
    pub(super) fn finish_batch(&mut self, key: u64) {
        if let Some(state) = self.calls.take_batch(key) {
            self.keep_or_finish(state);
        }
    }

    fn write_batch(&mut self, batch: Batch) {
        // What waits to be sent is counted with the queue, once as much as possible is written.
        if let Some((answer, _share)) = batch.finish() {
            self.scratch = answer;
            self.push_scratch();
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
    pub(super) fn settle_ahead(&mut self, batch: &mut Batch, refusal: Option<&ErrorObject>) {
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
