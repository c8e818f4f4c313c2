//! The entries of a batch that take time, run inside the future that answers the batch.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;

use crate::context::Version;
use crate::engine::assembly::EntryOutcome;
use crate::engine::batch::{Batch, Stop};
use crate::engine::exchange::Answer;
use crate::engine::observed::ObservedCall;
use crate::engine::outcome::end_of;
use crate::engine::running::{Running, Streaming};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::observer::End;
use crate::reply::{Outcome, Reply, ReplyFuture};

/// Runs the rest of a batch in place, however long it takes: dropping the future drops its handlers at once.
pub(super) async fn run(mut batch: Box<Batch>, mut stop: Stop) -> Answer {
    let mut entries = RunningEntries::default();
    loop {
        match stop {
            Stop::Finished => break,
            Stop::Pause => yield_now().await,
            Stop::Other(index, message) => batch.settle_other(index, *message),
            Stop::Control(index) => batch.settle_for_session(index),
            Stop::Waiting(index, future, watch) => {
                entries.start(&mut batch, index, future, watch).await;
                consume_budget().await;
            }
        }
        stop = batch.advance_in_session();
    }
    while entries.next(&mut batch).await.is_some() {}
    batch.into_answer()
}

/// The running entries of a batch.
#[derive(Default)]
struct RunningEntries(FuturesUnordered<Pin<Box<dyn Future<Output = FinishedEntry> + Send>>>);

struct FinishedEntry {
    index: usize,
    version: Version,
    id: Option<Id>,
    reply: Reply,
    watch: Option<Box<ObservedCall>>,
}

impl RunningEntries {
    /// Lets the entry that was started last go on beside the others, until one more may be started.
    async fn start(
        &mut self,
        batch: &mut Batch,
        index: usize,
        future: ReplyFuture,
        watch: Option<Box<ObservedCall>>,
    ) {
        let (engine, call) = (batch.engine(), batch.call());
        let (version, id) = (call.cx.version, call.id().cloned());
        let is_barrier = id.is_none() && engine.settings.profile.ordered_notifications;
        let concurrency = engine.settings.limits.batch_concurrency.max(1);
        let mut running = Running::new(call, future, Streaming::whole(call), &engine.settings.limits);
        let guard = engine.register(call, &mut running);
        self.0.push(Box::pin(async move {
            let _guard = guard;
            FinishedEntry { index, version, id, reply: running.finish().await, watch }
        }));
        if is_barrier {
            while self.next(batch).await != Some(index) {}
            return;
        }
        self.first_step(batch).await;
        while self.0.len() >= concurrency {
            self.next(batch).await;
        }
    }

    /// Lets the entry that was just added do its first step before the next entry starts.
    async fn first_step(&mut self, batch: &mut Batch) {
        poll_fn(|cx| {
            while let Poll::Ready(Some(finished)) = self.0.poll_next_unpin(cx) {
                settle(batch, finished);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits until one more is done, and says which.
    async fn next(&mut self, batch: &mut Batch) -> Option<usize> {
        let finished = self.0.next().await?;
        let index = finished.index;
        settle(batch, finished);
        Some(index)
    }
}

/// Whether an entry was cancelled in a dialect that does not answer what is cancelled.
fn is_silent(batch: &Batch, error: &ErrorObject) -> bool {
    end_of(error) == End::Cancelled && batch.engine().settings.profile.cancel.answer.is_none()
}

fn settle(batch: &mut Batch, finished: FinishedEntry) {
    let FinishedEntry { index, version, id, reply, watch } = finished;
    let members = reply.extra.as_ref().and_then(|extra| extra.members.as_ref());
    match (&id, &reply.outcome) {
        (Some(id), Outcome::Value(json)) => {
            batch.answer(index, version, id, EntryOutcome::with(Ok(json), members), watch);
        }
        (Some(_), Outcome::Error(error)) if is_silent(batch, error) => {
            batch.note_done(index, &reply.outcome, watch);
        }
        (Some(id), Outcome::Error(error)) => {
            batch.answer(index, version, id, EntryOutcome::with(Err(error), members), watch);
        }
        (_, outcome) => batch.note_done(index, outcome, watch),
    }
}
