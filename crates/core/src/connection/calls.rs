//! Calls of the peer in flight: those that run, those that wait for their turn, and the batches they belong to.

use std::collections::{HashMap, VecDeque};
use std::task::{Context as Poller, Poll};

use tokio::task::{AbortHandle, Id as TaskId, JoinSet};

use crate::call::Call;
use crate::codec::Loaded;
use crate::context::{Context, Version};
use crate::engine::{Batch, CancelFlag, Engine, ObservedCall, Running, complete};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::name::Name;
use crate::reply::Reply;

/// The calls in flight of one connection. A plain value: the connection decides on the answers.
pub(super) struct Calls {
    pub(super) engine: Engine,
    pub(super) cx: Context,
    /// The call that is being read. It is the same for all, because moving a call about costs more than answering it.
    pub(super) call: Call,
    /// Whether its context has more than that of the connection.
    is_marked: bool,
    /// What was admitted and waits for a notification before it.
    waiting: VecDeque<Waiting>,
    /// A call that is still pending after its first poll runs as a task, so that it never holds up reading.
    tasks: JoinSet<Reply>,
    running: HashMap<TaskId, Task>,
    /// The notification that everything after it waits for.
    barrier: Option<TaskId>,
    /// Batches with entries that run or wait.
    batches: HashMap<u64, BatchState>,
    /// Batches that have entries waiting and a place for one.
    resumable: VecDeque<u64>,
    last_batch: u64,
    /// How many calls and batches are admitted and not done.
    admitted: usize,
}

/// Something that waits for its turn.
pub(super) enum Waiting {
    Call(Box<Call>),
    /// The entries of this batch that were not started.
    Batch(u64),
}

/// A batch in flight.
pub(super) struct BatchState {
    pub(super) key: u64,
    pub(super) batch: Batch,
    /// Entries that run.
    pub(super) running: usize,
    /// Whether messages for the session itself were taken out of what was not started.
    pub(super) is_settled: bool,
}

struct Task {
    version: Version,
    id: Option<Id>,
    place: AnswerSlot,
    cancel: CancelFlag,
    abort: AbortHandle,
    watch: Option<Box<ObservedCall>>,
}

/// Where the answer to a call belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerSlot {
    /// Into a separate frame.
    Alone,
    /// Into the answer to this batch, as this entry.
    Batch(u64, usize),
}

/// A call that is done, to be answered if it has an identifier.
pub(super) struct Done {
    pub(super) version: Version,
    pub(super) id: Option<Id>,
    pub(super) place: AnswerSlot,
    pub(super) reply: Reply,
    pub(super) watch: Option<Box<ObservedCall>>,
}

impl Calls {
    pub(super) fn new(engine: Engine, cx: Context) -> Calls {
        Calls {
            engine,
            call: Call::blank(cx.clone()),
            cx,
            is_marked: false,
            waiting: VecDeque::new(),
            tasks: JoinSet::new(),
            running: HashMap::new(),
            barrier: None,
            batches: HashMap::new(),
            resumable: VecDeque::new(),
            last_batch: 0,
            admitted: 0,
        }
    }

    pub(super) fn attach<T: Send + Sync + 'static>(&mut self, value: T) {
        self.cx.insert(value);
        self.is_marked = true;
    }

    /// Completes the call that was decoded last.
    #[inline(always)]
    pub(super) fn complete(&mut self, loaded: Loaded) {
        if self.is_marked || !self.call.cx.is_as_new(&self.cx) {
            self.call.cx = self.cx.clone();
        }
        self.is_marked = complete(&mut self.call, loaded, &self.engine.settings.profile);
    }

    /// The call that was read last, given away.
    pub(super) fn take_read(&mut self) -> Call {
        self.is_marked = false;
        std::mem::replace(&mut self.call, Call::blank(self.cx.clone()))
    }

    /// Gives calls from here on this context.
    pub(super) fn admit(&mut self, cx: Context) {
        self.call.cx = cx.clone();
        self.cx = cx;
    }

    /// Lets go of the frame that the call which was read last came in, or an idle connection would keep it.
    pub(super) fn release_frame(&mut self) {
        if std::mem::take(&mut self.is_marked) || !self.call.cx.is_as_new(&self.cx) {
            self.call.cx = self.cx.clone();
        }
        let (method, params, id) = self.call.parts();
        (*params, *id) = (None, None);
        *method = Name::from_static("");
    }

    /// Whether a call may start at once: nothing is before it, and one more may be in flight.
    #[inline(always)]
    pub(super) fn is_clear(&self) -> bool {
        self.barrier.is_none() && self.waiting.is_empty() && self.has_place()
    }

    /// Whether one more call may be in flight. If not it is refused, never parked: parking the reader would deadlock
    /// two sides that call each other.
    pub(super) fn has_place(&self) -> bool {
        self.admitted < self.engine.settings.limits.in_flight
    }

    pub(super) fn has_barrier(&self) -> bool {
        self.barrier.is_some()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty() && self.batches.is_empty()
    }

    /// Admits the call that was read last to what waits.
    pub(super) fn wait(&mut self) {
        self.admitted += 1;
        let call = self.take_read();
        self.waiting.push_back(Waiting::Call(Box::new(call)));
    }

    /// Admits a batch, which counts as one call while it is in flight.
    pub(super) fn admit_batch(&mut self, batch: Batch) -> BatchState {
        self.admitted += 1;
        self.last_batch += 1;
        BatchState { key: self.last_batch, batch, running: 0, is_settled: false }
    }

    /// Keeps a batch of which something runs or waits.
    pub(super) fn keep_batch(&mut self, state: BatchState) {
        self.batches.insert(state.key, state);
    }

    /// Has the rest of a batch wait for the notification that is its last entry so far, before anything else.
    pub(super) fn wait_first(&mut self, batch: u64) {
        self.waiting.push_front(Waiting::Batch(batch));
    }

    /// Has a batch wait behind everything that came before it.
    pub(super) fn wait_batch(&mut self, batch: u64) {
        self.waiting.push_back(Waiting::Batch(batch));
    }

    pub(super) fn take_batch(&mut self, batch: u64) -> Option<BatchState> {
        self.batches.remove(&batch)
    }

    /// A batch has been answered.
    pub(super) fn retire_batch(&mut self) {
        self.admitted -= 1;
    }

    /// The next that may start now; a call counts as started and not as waiting any more.
    pub(super) fn next_waiting(&mut self) -> Option<Waiting> {
        if self.barrier.is_some() {
            return None;
        }
        if let Some(batch) = self.resumable.pop_front() {
            return Some(Waiting::Batch(batch));
        }
        let next = self.waiting.pop_front()?;
        if let Waiting::Call(_) = &next {
            self.admitted -= 1;
        }
        Some(next)
    }

    /// Runs a call that is not done as a task.
    pub(super) fn spawn(
        &mut self,
        call: &Call,
        mut running: Running,
        place: AnswerSlot,
        watch: Option<Box<ObservedCall>>,
    ) {
        let cancel = running.cancel_flag();
        let abort = self.tasks.spawn(running.finish());
        let id = call.id().map(Id::detached);
        if id.is_none() && self.engine.settings.profile.ordered_notifications {
            self.barrier = Some(abort.id());
        }
        if place == AnswerSlot::Alone {
            self.admitted += 1;
        }
        let task = Task { version: call.cx.version, id, place, cancel, abort, watch };
        self.running.insert(task.abort.id(), task);
    }

    /// The next call that has come to its end.
    pub(super) fn poll_done(&mut self, cx: &mut Poller<'_>) -> Poll<Done> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next_with_id(cx) {
            let (task, reply) = match joined {
                Ok((task, reply)) => (task, reply),
                // It was answered when it was aborted.
                Err(error) if error.is_cancelled() => continue,
                Err(error) => (error.id(), Reply::error(ErrorObject::internal(&error))),
            };
            if let Some(done) = self.retire(task, reply) {
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }

    fn retire(&mut self, task: TaskId, reply: Reply) -> Option<Done> {
        let Task { version, id, place, watch, .. } = self.running.remove(&task)?;
        if self.barrier == Some(task) {
            self.barrier = None;
        }
        match place {
            AnswerSlot::Alone => self.admitted -= 1,
            AnswerSlot::Batch(batch, _) => {
                if let Some(state) = self.batches.get_mut(&batch) {
                    let was_full = state.running >= self.engine.settings.limits.batch_concurrency.max(1);
                    state.running -= 1;
                    if was_full && !state.batch.is_started() {
                        self.resumable.push_back(batch);
                    }
                }
            }
        }
        Some(Done { version, id, place, reply, watch })
    }

    /// Cancels the call with this identifier if it runs; it ends by itself then.
    pub(super) fn cancel_running(&self, id: &Id) -> bool {
        let task = self.running.values().find(|task| task.id.as_ref() == Some(id));
        task.map(|task| task.cancel.set()).is_some()
    }

    /// Takes the call with this identifier out of what waits.
    pub(super) fn take_waiting(&mut self, id: &Id) -> Option<Box<Call>> {
        let is_it = |waiting: &Waiting| matches!(waiting, Waiting::Call(call) if call.id() == Some(id));
        let at = self.waiting.iter().position(is_it)?;
        let Some(Waiting::Call(call)) = self.waiting.remove(at) else { return None };
        self.admitted -= 1;
        Some(call)
    }

    /// The batch in flight that has an entry with this identifier which was not started, with the entry answered.
    pub(super) fn cancel_entry(&mut self, id: &Id, error: &ErrorObject, is_answered: bool) -> Option<u64> {
        let mut batches = self.batches.values_mut();
        batches.find_map(|state| state.batch.cancel_unstarted(id, error, is_answered).then_some(state.key))
    }

    /// Takes the next thing that waits out, when all are given up.
    pub(super) fn give_up_waiting(&mut self) -> Option<Waiting> {
        self.resumable.clear();
        let next = self.waiting.pop_front()?;
        if let Waiting::Call(_) = &next {
            self.admitted -= 1;
        }
        Some(next)
    }

    /// The batches in flight, when all are given up.
    pub(super) fn batch_keys(&self) -> Vec<u64> {
        self.batches.keys().copied().collect()
    }

    /// Stops a call that runs without waiting for it; gives it back to be answered.
    pub(super) fn abort_next(&mut self, error: &ErrorObject) -> Option<Done> {
        let task = *self.running.keys().next()?;
        self.running.get(&task)?.abort.abort();
        self.retire(task, Reply::error(error.clone()))
    }
}
