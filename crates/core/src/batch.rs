//! The entries of a batch that came in one body: started in order, run concurrently, answered in order.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::assembly::{Assembly, Outcome};
use crate::call::Call;
use crate::codec::{Entries, Message};
use crate::context::{Context, Version};
use crate::dispatch::{Running, Started, begin_call, last_moment, note_members};
use crate::error::ErrorObject;
use crate::exchange::{Answer, note_lost, refuse, settle};
use crate::id::Id;
use crate::json::Json;
use crate::profile::Settings;
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// How many entries that are done at once are answered before others of the thread may have a turn.
const READY_AT_ONCE: usize = 256;

/// A batch and how far it has come.
pub(crate) struct Batch<'a> {
    service: &'a dyn Service,
    cx: &'a Context,
    settings: &'a Settings,
    entries: Entries,
    /// The first entry that has not been started.
    next: usize,
    /// The call of the entry that is being started. It is the same for all, because moving a call about costs more than
    /// answering it.
    call: Call,
    /// Whether the call's context has more than that of the batch.
    is_marked: bool,
    assembly: Assembly,
}

/// Why no more entries are answered at once.
pub(crate) enum Stop {
    /// All are done.
    Finished,
    /// Others shall have a turn.
    Pause,
    /// This entry has no reply yet, or one that takes time.
    Waiting(usize, ReplyFuture),
}

impl<'a> Batch<'a> {
    pub(crate) fn new(
        service: &'a dyn Service,
        entries: Entries,
        cx: &'a Context,
        settings: &'a Settings,
    ) -> Batch<'a> {
        let assembly = Assembly::new(entries.len());
        Batch {
            service,
            cx,
            settings,
            entries,
            next: 0,
            call: Call::blank(cx.clone()),
            is_marked: false,
            assembly,
        }
    }

    /// Starts entries in order, and answers them, as long as their replies are there at once.
    pub(crate) fn answer_ready(&mut self) -> Stop {
        let end = self.entries.len().min(self.next + READY_AT_ONCE);
        while self.next < end {
            let index = self.next;
            self.next += 1;
            if let Err(message) = self.load(index) {
                self.refuse(index, &message);
                continue;
            }
            let future = begin_call(self.service, &self.call);
            let (limits, version) = (&self.settings.limits, self.call.cx.version);
            match (future.as_ready(), self.call.id()) {
                (Some(Reply::Value(json)), Some(id)) => {
                    self.assembly.answer(index, version, id, Outcome::Value(json), limits);
                }
                (Some(Reply::Error(error)), Some(id)) => {
                    self.assembly.answer(index, version, id, Outcome::Error(error), limits);
                }
                (Some(reply), None) => {
                    note_lost(reply);
                    self.assembly.skip(index, limits);
                }
                _ => return Stop::Waiting(index, future),
            }
        }
        if self.next == self.entries.len() { Stop::Finished } else { Stop::Pause }
    }

    /// Makes the call the one that an entry asks for. Gives the entry back if it asks for none.
    #[inline(always)]
    fn load(&mut self, index: usize) -> Result<(), Box<Message>> {
        let loaded = self.entries.load(index, &mut self.call)?;
        if self.is_marked || loaded.members.is_some() {
            self.call.cx = self.cx.clone();
            self.is_marked = loaded.members.is_some();
            if let Some(members) = loaded.members {
                let id = self.call.id().cloned();
                note_members(*members, id.as_ref(), &mut self.call.cx);
            }
        }
        self.call.cx.version = loaded.version;
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, index: usize, message: &Message) {
        let limits = &self.settings.limits;
        match refuse(message) {
            Some((version, id, error)) => {
                self.assembly.answer(index, version, id, Outcome::Error(&error), limits);
            }
            None => self.assembly.skip(index, limits),
        }
    }

    /// The answer, once every entry is done.
    pub(crate) fn answer(self) -> Answer {
        self.assembly.finish().map_or(Answer::Nothing, |text| Answer::Batch(Bytes::from(text)))
    }

    /// Answers the rest, however long it takes.
    pub(crate) async fn finish(self: Box<Self>, mut stop: Stop) -> Answer {
        let mut run = Run { batch: self, running: FuturesUnordered::new() };
        loop {
            match stop {
                Stop::Finished => break,
                Stop::Pause => yield_now().await,
                Stop::Waiting(index, future) => {
                    run.wait_for(index, future).await;
                    consume_budget().await;
                }
            }
            stop = run.batch.answer_ready();
        }
        while run.next().await.is_some() {}
        run.batch.answer()
    }
}

/// A batch of which some entries are under way.
struct Run<'a> {
    batch: Box<Batch<'a>>,
    running: FuturesUnordered<Entry<'a>>,
}

/// Gives the index of the entry, and its answer unless it is a notification.
type Entry<'a> = Pin<Box<dyn Future<Output = (usize, Option<Answered>)> + Send + 'a>>;

type Answered = (Version, Id, Result<Json, ErrorObject>);

impl Run<'_> {
    /// Lets the call that was started last go on beside the others.
    async fn wait_for(&mut self, index: usize, future: ReplyFuture) {
        let call = &self.batch.call;
        let started = Started::of(call, future);
        match (call.id().cloned(), started) {
            (Some(id), started) => self.call(index, call.cx.version, id, started).await,
            (None, Started::Running(running)) => self.notification(index, running).await,
            (None, Started::Done(_)) => self.place(index, None),
        }
    }

    async fn call(&mut self, index: usize, version: Version, id: Id, started: Started) {
        self.place_to_run().await;
        let (deadline, limits) = (self.batch.cx.deadline, &self.batch.settings.limits);
        self.running.push(Box::pin(async move {
            let until: Instant = last_moment(deadline, limits);
            let outcome = settle(started.finish_by(until).await, until, limits).await;
            (index, Some((version, id, outcome)))
        }));
        self.first_step().await;
    }

    async fn notification(&mut self, index: usize, running: Running) {
        self.place_to_run().await;
        let settings = self.batch.settings;
        self.running.push(Box::pin(async move {
            note_lost(&running.finish(&settings.limits).await);
            (index, None)
        }));
        if settings.profile.ordered_notifications {
            while self.next().await != Some(index) {}
        } else {
            self.first_step().await;
        }
    }

    /// Waits until one more may run, be it a call or a notification.
    async fn place_to_run(&mut self) {
        while self.running.len() >= self.batch.settings.limits.batch_concurrency.max(1) {
            self.next().await;
        }
    }

    /// Lets what was just started do its first step before the next entry starts.
    async fn first_step(&mut self) {
        std::future::poll_fn(|cx| {
            while let Poll::Ready(Some((index, answered))) = self.running.poll_next_unpin(cx) {
                self.place(index, answered.as_ref());
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits until one more is done, and says which.
    async fn next(&mut self) -> Option<usize> {
        let (index, answered) = self.running.next().await?;
        self.place(index, answered.as_ref());
        Some(index)
    }

    fn place(&mut self, index: usize, answered: Option<&Answered>) {
        let Batch { assembly, settings, .. } = &mut *self.batch;
        match answered {
            Some((version, id, outcome)) => {
                assembly.answer(index, *version, id, outcome.as_ref().into(), &settings.limits);
            }
            None => assembly.skip(index, &settings.limits),
        }
    }
}
