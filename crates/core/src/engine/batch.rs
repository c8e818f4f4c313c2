//! The entries of a batch: started in order and answered in order, whatever runs those that take time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::call::Call;
use crate::codec::{Entries, Message};
use crate::context::{Context, Version};
use crate::engine::Engine;
use crate::engine::assembly::{Assembly, EntryOutcome};
use crate::engine::begin::{begin_unguarded, complete};
use crate::engine::observed::{ObservedBatch, ObservedCall, ObservedStart};
use crate::engine::outcome::{end_of_notification, refusal_of};
use crate::engine::running::crash_error;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::input::Input;
use crate::json::Json;
use crate::memory::Share;
use crate::observer::{BatchId, Position};
use crate::reply::{Outcome, ReplyFuture};

/// How many entries that are done at once are answered before others of the thread may have a turn.
const READY_AT_ONCE: usize = 256;

/// A batch and how far it has come.
///
/// Its owner calls [`advance`](Batch::advance) and deals with what that stops for. It runs the entries that take time, and
/// gives their outcomes back.
pub(crate) struct Batch {
    engine: Engine,
    cx: Context,
    entries: Entries,
    id: BatchId,
    /// The first entry that has not been started.
    next: usize,
    /// The entries that have no outcome.
    open: usize,
    /// The call of the entry that is being started. It is the same for all, because moving a call about costs more than
    /// answering it.
    call: Call,
    /// Whether the call's context has more than that of the batch.
    is_marked: bool,
    /// What the observer knows of the entry that is being started, for the case that it panics.
    starting: Option<ObservedStart>,
    /// The entries that had their outcome before their turn, if there are any.
    early: Option<Box<[bool]>>,
    assembly: Assembly,
    /// What the entries see of the batch, if it is signed as a whole.
    _input: Option<Arc<Input>>,
    _watch: Option<ObservedBatch>,
}

/// Why no more entries are answered at once.
pub(crate) enum Stop {
    /// All were started.
    Finished,
    /// Others shall have a turn.
    Pause,
    /// The entry at this index has no reply yet, or one that takes time. It is the batch's [call](Batch::call).
    Waiting(usize, ReplyFuture, Option<Box<ObservedCall>>),
    /// The entry at this index asks for no call.
    Other(usize, Box<Message>),
    /// The entry at this index is for the session itself. It is the batch's [call](Batch::call).
    Control(usize),
}

impl Batch {
    pub(crate) fn new(engine: Engine, entries: Entries, mut cx: Context, id: BatchId) -> Batch {
        let count = entries.len();
        let input = entries.text_if_first(Input::BATCH_SIGNATURE).map(|text| Input::of_batch(text, &mut cx));
        let watch = ObservedBatch::new(&engine, &mut cx, id, count);
        let assembly = Assembly::new(count, cx.session().share(), &engine.settings.limits);
        Batch {
            engine,
            call: Call::blank(cx.clone()),
            cx,
            entries,
            id,
            next: 0,
            open: count,
            is_marked: false,
            starting: None,
            early: None,
            assembly,
            _input: input,
            _watch: watch,
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The entry that was started or looked at last.
    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// Where an entry stands.
    pub(crate) fn position(&self, index: usize) -> Position {
        Position::Entry { batch: self.id, index }
    }

    /// Whether every entry was started.
    pub(crate) fn is_started(&self) -> bool {
        self.next == self.entries.len()
    }

    /// Whether every entry has its outcome.
    pub(crate) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Starts entries in order, and answers them, as long as their replies are there at once. Stops at those for which
    /// `is_control` holds. Never panics, whatever the service does.
    #[inline]
    pub(crate) fn advance(&mut self, is_control: impl Fn(&Call) -> bool) -> Stop {
        loop {
            let run = AssertUnwindSafe(|| match self.engine.settings.observer {
                None => self.answer_ready::<false>(&is_control),
                Some(_) => self.answer_ready::<true>(&is_control),
            });
            // The guard stands around many entries, because it costs each a little.
            match catch_unwind(run) {
                Ok(stop) => return stop,
                Err(panic) => {
                    let error = crash_error(&self.call.method, panic.as_ref());
                    self.settle_crashed(error);
                }
            }
        }
    }

    /// Answers the entry that was being started when the service panicked.
    #[cold]
    fn settle_crashed(&mut self, error: ErrorObject) {
        let index = self.next - 1;
        let began = self.starting.take();
        let watch = self.watch(began);
        match self.call.id().cloned() {
            Some(id) => self.answer(index, self.call.cx.version, &id, EntryOutcome::Error(&error), watch),
            None => self.note_done(index, &Outcome::Error(error), watch),
        }
    }

    #[inline(always)]
    fn answer_ready<const OBSERVED: bool>(&mut self, is_control: &impl Fn(&Call) -> bool) -> Stop {
        let end = self.entries.len().min(self.next + READY_AT_ONCE);
        while self.next < end {
            let index = self.next;
            self.next += 1;
            if self.early.is_some() && self.is_early(index) {
                continue;
            }
            if let Err(message) = self.load::<OBSERVED>(index) {
                return Stop::Other(index, message);
            }
            if is_control(&self.call) {
                return Stop::Control(index);
            }
            let began =
                if OBSERVED { self.engine.note_begun(&self.call, self.position(index)) } else { None };
            if OBSERVED {
                self.starting = began;
            }
            let future = begin_unguarded(&*self.engine.service, &self.call);
            let outcome = match (future.as_plain(), self.call.id()) {
                (Some(Outcome::Value(json)), Some(id)) => (id, Ok(json)),
                (Some(Outcome::Error(error)), Some(id)) => (id, Err(error)),
                (Some(outcome), None) => {
                    let ended = end_of_notification(outcome);
                    if let Some(began) = began {
                        self.engine.note_ended(&self.call, began, ended, outcome.error(), 0);
                    }
                    self.skip(index);
                    continue;
                }
                _ => {
                    let watch = if OBSERVED { self.watch(began) } else { None };
                    return Stop::Waiting(index, future, watch);
                }
            };
            let ((id, outcome), version, limits) =
                (outcome, self.call.cx.version, &self.engine.settings.limits);
            let watch = || if OBSERVED { began?.watch(&self.engine, &self.call) } else { None };
            let ended = self.assembly.answer(index, version, id, outcome, limits, watch);
            self.open -= 1;
            if OBSERVED && let (Some((end, bytes)), Some(began)) = (ended, began) {
                self.engine.note_ended(&self.call, began, end, outcome.err(), bytes);
            }
        }
        if self.is_started() { Stop::Finished } else { Stop::Pause }
    }

    /// Makes the call the one that an entry asks for. Gives the entry back if it asks for none.
    #[inline(always)]
    fn load<const OBSERVED: bool>(&mut self, index: usize) -> Result<(), Box<Message>> {
        let loaded = self.entries.load(index, &mut self.call)?;
        // Only observers begin spans.
        let is_as_new = match OBSERVED {
            true => self.call.cx.is_as_new(&self.cx),
            false => self.call.cx.has_caller_of(&self.cx),
        };
        if self.is_marked || !is_as_new {
            self.call.cx = self.cx.clone();
        }
        self.is_marked = complete(&mut self.call, loaded, &self.engine.settings.profile);
        Ok(())
    }

    /// Keeps seeing the entry that was started last.
    pub(crate) fn watch(&self, began: Option<ObservedStart>) -> Option<Box<ObservedCall>> {
        began?.watch(&self.engine, &self.call)
    }
}

/// Outcomes that are given from outside.
impl Batch {
    /// Answers the entry that was started or looked at last, or leaves it without an answer.
    pub(crate) fn settle(&mut self, index: usize, outcome: Option<Result<&Json, &ErrorObject>>) {
        let limits = &self.engine.settings.limits;
        match (outcome, self.call.id()) {
            (Some(outcome), Some(id)) => {
                let version = self.call.cx.version;
                self.assembly.answer_any(index, version, id, outcome.into(), limits, || None);
                self.open -= 1;
            }
            _ => self.skip(index),
        }
    }

    /// Refuses the entry that was looked at last.
    pub(crate) fn refuse_call(&mut self, index: usize, error: &ErrorObject) {
        self.engine.note_refused_call(&self.call, error, self.position(index));
        self.settle(index, Some(Err(error)));
    }

    /// Answers an entry that is not a call, where no calls were sent over this transport.
    pub(crate) fn refuse(&mut self, index: usize, message: &Message) {
        let Some((version, id, error)) = refusal_of(message) else { return self.skip(index) };
        self.engine.note_refused(&self.cx, &error, Some(id), self.position(index));
        self.answer(index, version, id, EntryOutcome::Error(&error), None);
    }

    /// Takes the reply to an entry that was run elsewhere.
    pub(crate) fn answer(
        &mut self,
        index: usize,
        version: Version,
        id: &Id,
        outcome: EntryOutcome<'_>,
        watch: Option<Box<ObservedCall>>,
    ) {
        let mut watch = watch;
        let limits = &self.engine.settings.limits;
        let ended = self.assembly.answer_any(index, version, id, outcome, limits, || watch.take());
        self.open -= 1;
        if let (Some((end, bytes)), Some(watch)) = (ended, watch) {
            watch.end(end, outcome.error(), bytes);
        }
    }

    /// The error that replaces an entry that opens a stream with these members, if the reply has no room for them. A stream that is
    /// announced begins, so this is asked for before.
    pub(crate) fn excess(&mut self, members: &Json) -> Option<ErrorObject> {
        self.assembly.excess(members.as_bytes().len(), &self.engine.settings.limits)
    }

    /// Takes the reply to an entry that is a notification.
    pub(crate) fn note_done(&mut self, index: usize, outcome: &Outcome, watch: Option<Box<ObservedCall>>) {
        let end = end_of_notification(outcome);
        if let Some(watch) = watch {
            watch.end(end, outcome.error(), 0);
        }
        self.skip(index);
    }

    /// Leaves an entry without an answer.
    pub(crate) fn skip(&mut self, index: usize) {
        self.assembly.skip(index, &self.engine.settings.limits);
        self.open -= 1;
    }

    /// The whole answer, once every entry has its outcome, and the memory that it takes; nothing if none is answered (J2-44).
    pub(crate) fn finish(self) -> Option<(Vec<u8>, Share)> {
        self.assembly.finish()
    }
}

/// Entries whose outcome is decided before their turn.
impl Batch {
    /// The entries that were not started.
    pub(crate) fn unstarted(&self) -> std::ops::Range<usize> {
        self.next..self.entries.len()
    }

    /// Looks at an entry that was not started: it becomes the batch's call, or is given back if it asks for none. Nothing
    /// if it has its outcome.
    pub(crate) fn look(&mut self, index: usize) -> Option<Result<(), Box<Message>>> {
        (!self.is_early(index)).then(|| self.load::<true>(index))
    }

    /// Says that an entry has, or is given now, its outcome before its turn.
    pub(crate) fn mark_early(&mut self, index: usize) {
        let count = self.entries.len();
        self.early.get_or_insert_with(|| vec![false; count].into_boxed_slice())[index] = true;
    }

    #[cold]
    fn is_early(&self, index: usize) -> bool {
        self.early.as_ref().is_some_and(|early| early[index])
    }

    /// Answers the call with this identifier with an error, if it is an entry that was not started.
    pub(crate) fn cancel_unstarted(&mut self, id: &Id, error: &ErrorObject, is_answered: bool) -> bool {
        for index in self.unstarted() {
            if matches!(self.look(index), Some(Ok(()))) && self.call.id() == Some(id) {
                self.mark_early(index);
                self.engine.note_refused_call(&self.call, error, self.position(index));
                self.settle(index, is_answered.then_some(Err(error)));
                return true;
            }
        }
        false
    }
}
