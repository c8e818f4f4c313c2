//! Calls of the far side: admitted or refused, started in order, run, cancelled, answered.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::{AbortHandle, Id as TaskId, JoinSet};

use crate::assembly::Assembly;
use crate::call::StreamWanted;
use crate::codec::Request;
use crate::connection::partial::Tokens;
use crate::context::{self, Version};
use crate::dispatch::{Running, Started, call_of, start};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::profile::Settings;
use crate::reply::{Items, Reply};
use crate::service::Service;

/// The calls that one connection has under way.
pub(super) struct Calls {
    service: Arc<dyn Service>,
    cx: context::Context,
    settings: Arc<Settings>,
    /// What was admitted and waits for a notification before it.
    backlog: VecDeque<(Request, Place)>,
    /// What is not done after its first step runs as a task of its own, so that reading never waits for it.
    tasks: JoinSet<Reply>,
    running: HashMap<TaskId, Task>,
    /// The notification that everything after it waits for.
    barrier: Option<TaskId>,
    batches: HashMap<u64, BatchState>,
    /// Batches that have entries waiting and a place for one.
    resumable: VecDeque<u64>,
    last_batch: u64,
    /// How many calls and batches are admitted and not done.
    admitted: usize,
}

/// A batch under way.
pub(super) struct BatchState {
    pub(super) assembly: Assembly,
    /// Entries that are not answered yet.
    open: usize,
    /// Entries that run.
    running: usize,
    /// Entries that wait for a place among those that run. Only they wait: calls after the batch go on.
    waiting: VecDeque<(Request, usize)>,
    /// Streams that begin once the answer is written.
    pub(super) opening: Vec<(Json, Id, Items)>,
}

struct Task {
    version: Version,
    id: Option<Id>,
    place: Place,
    abort: AbortHandle,
}

/// Where the answer to a call belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Into a frame of its own.
    Alone,
    /// Into the answer to this batch, as this entry.
    Batch(u64, usize),
}

/// A call that is done, to be answered if it has an identifier.
pub(super) struct Done {
    pub(super) version: Version,
    pub(super) id: Option<Id>,
    pub(super) place: Place,
    pub(super) reply: Reply,
}

impl Calls {
    pub(super) fn new(service: Arc<dyn Service>, cx: context::Context, settings: Arc<Settings>) -> Calls {
        Calls {
            service,
            cx,
            settings,
            backlog: VecDeque::new(),
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
    }

    /// Whether one more call may be under way. If not it is refused, never parked: parking the reader would deadlock
    /// two sides that call each other.
    pub(super) fn has_place(&self) -> bool {
        self.admitted < self.settings.limits.in_flight
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.backlog.is_empty() && self.resumable.is_empty()
    }

    /// Admits one call; gives it back done if nothing stands in its way and it is ready at once.
    #[inline]
    pub(super) fn admit(&mut self, request: Request, cx: &mut Context<'_>) -> Option<Done> {
        self.admitted += 1;
        if self.barrier.is_some() || !self.backlog.is_empty() {
            self.backlog.push_back((request, Place::Alone));
            return None;
        }
        self.start(request, Place::Alone, cx)
    }

    /// Admits a batch with this many entries, which counts as one call.
    pub(super) fn admit_batch(&mut self, entries: usize) -> u64 {
        self.admitted += 1;
        self.last_batch += 1;
        let state = BatchState {
            assembly: Assembly::new(entries),
            open: entries,
            running: 0,
            waiting: VecDeque::new(),
            opening: Vec::new(),
        };
        self.batches.insert(self.last_batch, state);
        self.last_batch
    }

    /// Adds an entry of a batch to what waits to be started.
    pub(super) fn enqueue(&mut self, request: Request, batch: u64, index: usize) {
        self.backlog.push_back((request, Place::Batch(batch, index)));
    }

    pub(super) fn batch(&mut self, batch: u64) -> Option<&mut BatchState> {
        self.batches.get_mut(&batch)
    }

    /// One entry of a batch has its outcome; gives the batch when it was the last.
    pub(super) fn close_entry(&mut self, batch: u64) -> Option<BatchState> {
        let state = self.batches.get_mut(&batch)?;
        state.open -= 1;
        if state.open > 0 {
            return None;
        }
        self.admitted -= 1;
        self.batches.remove(&batch)
    }

    /// Starts what waits and can be started; gives the next that was done at once.
    pub(super) fn advance(&mut self, cx: &mut Context<'_>) -> Option<Done> {
        while self.barrier.is_none() {
            let (request, place) = match self.resume() {
                Some(entry) => entry,
                None => self.backlog.pop_front()?,
            };
            if let Place::Batch(batch, index) = place
                && self.has_to_wait(batch)
                && let Some(state) = self.batches.get_mut(&batch)
            {
                state.waiting.push_back((request, index));
                continue;
            }
            if let Some(done) = self.start(request, place, cx) {
                return Some(done);
            }
        }
        None
    }

    /// The next entry of a batch that waited for a place and has one now.
    fn resume(&mut self) -> Option<(Request, Place)> {
        let concurrency = self.settings.limits.batch_concurrency.max(1);
        while let Some(batch) = self.resumable.front().copied() {
            let entry = match self.batches.get_mut(&batch) {
                Some(state) if state.running < concurrency => state.waiting.pop_front(),
                _ => None,
            };
            match entry {
                Some((request, index)) => return Some((request, Place::Batch(batch, index))),
                None => self.resumable.pop_front(),
            };
        }
        None
    }

    /// Whether an entry that comes up now has to wait for others of its batch. Those that were resumed do not.
    fn has_to_wait(&self, batch: u64) -> bool {
        let concurrency = self.settings.limits.batch_concurrency.max(1);
        self.batches.get(&batch).is_some_and(|state| state.running >= concurrency)
    }

    #[inline]
    fn start(&mut self, mut request: Request, place: Place, cx: &mut Context<'_>) -> Option<Done> {
        let (version, id) = (request.version, request.id.clone());
        let tokens = Tokens::take(&mut request, &self.settings.profile);
        let mut call = call_of(request, &self.cx);
        if let Some(progress) = tokens.progress.clone() {
            call.cx.insert(progress);
        }
        if tokens.wants_parts() {
            call.cx.insert(StreamWanted);
        }
        let settles = id.is_some() && self.settings.profile.streams.partial.is_some();
        let about = settles.then(|| (call.method.clone(), call.cx.deadline));
        let mut started = start(&*self.service, &call);
        if let Some((method, deadline)) = about {
            started = match started {
                Started::Running(running) => {
                    Started::Running(running.then(|reply| tokens.settle(reply, &self.cx, &self.settings)))
                }
                Started::Done(reply @ Reply::Stream(_)) => {
                    let reply = tokens.settle(std::future::ready(reply), &self.cx, &self.settings);
                    Started::Running(Running::of(reply, method, deadline))
                }
                done => done,
            };
        }
        match started {
            Started::Done(reply) => Some(self.done(version, id, place, reply)),
            Started::Running(mut running) => match Pin::new(&mut running).poll(cx) {
                Poll::Ready(reply) => Some(self.done(version, id, place, reply)),
                Poll::Pending => {
                    self.spawn(version, id, place, running);
                    None
                }
            },
        }
    }

    fn spawn(&mut self, version: Version, id: Option<Id>, place: Place, running: Running) {
        let settings = Arc::clone(&self.settings);
        let abort = self.tasks.spawn(async move { running.finish(&settings.limits).await });
        if id.is_none() && self.settings.profile.ordered_notifications {
            self.barrier = Some(abort.id());
        }
        if let Place::Batch(batch, _) = place
            && let Some(state) = self.batches.get_mut(&batch)
        {
            state.running += 1;
        }
        self.running.insert(abort.id(), Task { version, id, place, abort });
    }

    #[inline]
    fn done(&mut self, version: Version, id: Option<Id>, place: Place, reply: Reply) -> Done {
        if place == Place::Alone {
            self.admitted -= 1;
        }
        Done { version, id, place, reply }
    }

    /// The next call that has come to its end.
    pub(super) fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        while let Poll::Ready(Some(joined)) = self.tasks.poll_join_next_with_id(cx) {
            let (task, reply) = match joined {
                Ok((task, reply)) => (task, reply),
                // Whoever aborted it has answered it.
                Err(error) if error.is_cancelled() => continue,
                Err(error) => (error.id(), Reply::Error(ErrorObject::internal(&error))),
            };
            if let Some(done) = self.retire(task, reply) {
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }

    fn retire(&mut self, task: TaskId, reply: Reply) -> Option<Done> {
        let Task { version, id, place, .. } = self.running.remove(&task)?;
        if self.barrier == Some(task) {
            self.barrier = None;
        }
        if let Place::Batch(batch, _) = place
            && let Some(state) = self.batches.get_mut(&batch)
        {
            state.running -= 1;
            if !state.waiting.is_empty() {
                self.resumable.push_back(batch);
            }
        }
        Some(self.done(version, id, place, reply))
    }

    /// Stops the call with this identifier, wherever it is; gives it back to be answered.
    pub(super) fn cancel(&mut self, id: &Id, error: ErrorObject) -> Option<Done> {
        let waiting = self.backlog.iter().position(|(request, _)| request.id.as_ref() == Some(id));
        if let Some((request, place)) = waiting.and_then(|at| self.backlog.remove(at)) {
            return Some(self.done(request.version, request.id, place, Reply::Error(error)));
        }
        let is_it = |(request, _): &(Request, usize)| request.id.as_ref() == Some(id);
        for (&batch, state) in &mut self.batches {
            if let Some((request, index)) =
                state.waiting.iter().position(is_it).and_then(|at| state.waiting.remove(at))
            {
                let place = Place::Batch(batch, index);
                return Some(self.done(request.version, request.id, place, Reply::Error(error)));
            }
        }
        let mut running = self.running.iter();
        let task = *running.find(|(_, task)| task.id.as_ref() == Some(id))?.0;
        self.abort(task, error)
    }

    /// Stops every call; gives back one after the other to be answered.
    pub(super) fn cancel_next(&mut self, error: &ErrorObject) -> Option<Done> {
        if let Some((request, place)) = self.backlog.pop_front() {
            return Some(self.done(request.version, request.id, place, Reply::Error(error.clone())));
        }
        let waiting = self.batches.iter_mut().find_map(|(batch, state)| {
            state.waiting.pop_front().map(|(request, index)| (request, Place::Batch(*batch, index)))
        });
        if let Some((request, place)) = waiting {
            return Some(self.done(request.version, request.id, place, Reply::Error(error.clone())));
        }
        let task = *self.running.keys().next()?;
        self.abort(task, error.clone())
    }

    fn abort(&mut self, task: TaskId, error: ErrorObject) -> Option<Done> {
        self.running.get(&task)?.abort.abort();
        self.retire(task, Reply::Error(error))
    }
}
