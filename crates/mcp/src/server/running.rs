//! A method that takes time: its time limit, its questions and its stream.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_core::{ErrorObject, Items, Json, Outcome, Reply, ReplyFuture};
use tokio::time::{Instant, Sleep};

use super::request::{Request, plain_text};
use super::snapshot::Snapshot;
use crate::ask::{Asker, Caller};

/// The most bytes of items that are collected.
const COLLECTED: usize = 8 << 20;

/// A method that runs for a client.
pub(super) struct Run {
    reply: ReplyFuture,
    caller: Caller,
    snapshot: Arc<Snapshot>,
    started: Instant,
    has_limit: bool,
}

impl Run {
    pub(super) fn new(request: &Request<'_>, reply: ReplyFuture, caller: Caller) -> Run {
        Run::of(Arc::clone(&request.snapshot), reply, caller)
    }

    /// The same for a request that was read before.
    pub(super) fn of(snapshot: Arc<Snapshot>, reply: ReplyFuture, caller: Caller) -> Run {
        let started = Instant::now();
        Run { reply, caller, snapshot, started, has_limit: true }
    }

    /// Lets it run as long as it wants: a task.
    pub(super) fn without_limit(mut self) -> Run {
        self.has_limit = false;
        self
    }
}

/// The reply of a method, finished by a function: at once if it is there.
pub(super) fn finished(
    request: &Request<'_>,
    reply: ReplyFuture,
    caller: Caller,
    finish: impl FnOnce(Reply) -> Reply + Send + 'static,
) -> ReplyFuture {
    let reply = match reply.into_ready() {
        Ok(reply) if !matches!(reply.outcome, Outcome::Stream(_)) => return finish(reply).into(),
        Ok(reply) => ReplyFuture::ready(reply),
        Err(pending) => pending,
    };
    let begun = Run::new(request, reply, caller);
    ReplyFuture::untimed(async move {
        match run(begun).await {
            Ran::Replied(reply) => finish(reply),
            Ran::Asked(asked) => asked,
            Ran::Background(work) => finish(work.await),
        }
    })
}

/// What became of a method.
pub(super) enum Ran {
    /// It has replied.
    Replied(Reply),
    /// Its client is asked with this reply.
    Asked(Reply),
    /// It goes on as a task.
    Background(Work),
}

/// A method that runs.
pub(super) type Work = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Waits for the reply of a method.
pub(super) async fn run(run: Run) -> Ran {
    let Run { reply, caller, snapshot, started, has_limit } = run;
    let mut limit = TimeLimit::new(&caller, started, snapshot.call_time);
    let mut work: Work = Box::pin(whole(reply, caller.clone()));
    let mut is_background = false;
    let done = poll_fn(|cx| {
        if let Poll::Ready(reply) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(reply));
        }
        if let Asker::Rounds(rounds) = caller.asker()
            && rounds.is_asking(cx.waker())
        {
            return Poll::Ready(None);
        }
        if caller.wants_background(cx.waker()) {
            is_background = true;
            return Poll::Ready(None);
        }
        if !has_limit {
            return Poll::Pending;
        }
        limit.poll(cx).map(|()| Some(ErrorObject::timed_out().into()))
    });
    let done = done.await;
    if is_background {
        return Ran::Background(work);
    }
    // What the handler holds is released before the client knows of its questions.
    drop(work);
    match (done, caller.asker()) {
        // It goes to the client as it is.
        (Some(reply), Asker::Rounds(rounds)) if rounds.is_lost() => Ran::Asked(reply),
        (Some(reply), _) => Ran::Replied(reply),
        (None, Asker::Rounds(rounds)) => Ran::Asked(rounds.end(&snapshot.keys, &snapshot.server_json).into()),
        (None, _) => Ran::Replied(ErrorObject::timed_out().into()),
    }
}

/// The time limit of a method, which stands still while it waits for its client.
struct TimeLimit {
    caller: Caller,
    started: Instant,
    time: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl TimeLimit {
    fn new(caller: &Caller, started: Instant, time: Duration) -> TimeLimit {
        TimeLimit { caller: caller.clone(), started, time, sleep: None }
    }

    /// Ready when the time is over.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        loop {
            let until = self.started + self.time + self.caller.waited().unwrap_or_default();
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let until = match self.caller.waited() {
                // Look again later: it waits for its client.
                None => Instant::now() + self.time,
                Some(waited) => self.started + self.time + waited,
            };
            if until <= Instant::now() {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(until);
        }
    }
}

/// The reply with its stream collected. Each item is reported as progress.
async fn whole(reply: ReplyFuture, caller: Caller) -> Reply {
    let reply = reply.await;
    match reply.outcome {
        Outcome::Stream(items) => {
            let list = collect(items, &caller).await;
            Reply { extra: reply.extra, ..Reply::from(list) }
        }
        outcome => Reply { outcome, extra: reply.extra },
    }
}

async fn collect(mut items: Items, caller: &Caller) -> Result<Json, ErrorObject> {
    let (mut list, mut bytes) = (Vec::new(), 0);
    while let Some(item) = items.next().await {
        let item = item?;
        bytes += item.as_bytes().len();
        if bytes > COLLECTED {
            return Err(ErrorObject::over_limit("items", "the stream has more than 8 MiB of items"));
        }
        list.push(item);
        if caller.wants_progress() {
            let (count, message) = (list.len(), list.last().map(plain_text));
            #[expect(clippy::cast_precision_loss, reason = "progress is approximate")]
            caller.report(count as f64, None, message.as_deref()).await;
        }
    }
    Json::encode(&list).map_err(|error| ErrorObject::internal(&error))
}
