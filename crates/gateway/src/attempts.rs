//! Calls that are sent more than once: again after a failure, or twice because the first is slow.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use switchboard_core::{Call, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::time::Instant;

use crate::limit::OwnTime;
use crate::pool::{Pool, Tried};
use crate::verdict::Failure;

/// The pause before a call is sent to the same node again, doubled each time.
const PAUSE: Duration = Duration::from_millis(50);

/// How many retries there are at first, and how many are saved up at most, in thousandths. When a node dies, all calls in progress need one at
/// once.
const FIRST: i64 = 10_000;
const MOST: i64 = 100_000;

/// Metadata of the answer that says how often the call was sent, if more than once.
pub(crate) const ATTEMPTS: &str = "switchboard-attempts";

/// When a call of a [`Pool`] is sent again.
///
/// A call that was certainly not sent is always sent again. A call that may have run is sent again only if its method is safe to repeat, or
/// its caller says so ([`Call::repeatable`]). An error that the server sent never says that the call did not run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// How often at most, besides the first time: once.
    pub attempts: u32,
    /// How many retries there may be, as a share of all calls: a fifth. So a failing upstream is not buried in retries.
    pub budget: f64,
    /// How long to wait for an answer before a call that is safe to repeat is sent again: as long as its caller waits. The last attempt
    /// has all the time that is left.
    pub timeout: Option<Duration>,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { attempts: 1, budget: 0.2, timeout: None }
    }
}

impl Retry {
    /// Sends calls again up to this often.
    #[must_use]
    pub fn times(attempts: u32) -> Retry {
        Retry { attempts, ..Retry::default() }
    }

    /// Sets the [budget](Retry::budget).
    #[must_use]
    pub fn with_budget(self, budget: f64) -> Retry {
        Retry { budget, ..self }
    }

    /// Sets the [timeout](Retry::timeout) of an attempt.
    #[must_use]
    pub fn with_timeout(self, timeout: Option<Duration>) -> Retry {
        Retry { timeout, ..self }
    }
}

/// When a second copy of a slow call to a safe method is sent to another node; the first answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hedge {
    /// After this time.
    After(Duration),
    /// After the time within which this percentage of the answers arrives.
    Percentile(u8),
}

/// Tells which methods are safe to call twice.
type IsSafe = dyn Fn(&Call) -> bool + Send + Sync;

/// A [`Pool`] whose calls are sent again when that is safe.
#[derive(Clone)]
pub struct Attempts(Arc<Inner>);

struct Inner {
    pool: Pool,
    retry: Retry,
    hedge: Option<Hedge>,
    is_safe: Box<IsSafe>,
    /// Retries that may be made, in thousandths.
    saved: AtomicI64,
}

impl Attempts {
    /// Sends calls again as `retry` says.
    pub fn new(
        pool: Pool,
        retry: Retry,
        hedge: Option<Hedge>,
        is_safe: impl Fn(&Call) -> bool + Send + Sync + 'static,
    ) -> Attempts {
        let is_safe = Box::new(is_safe);
        Attempts(Arc::new(Inner { pool, retry, hedge, is_safe, saved: AtomicI64::new(FIRST) }))
    }
}

impl Inner {
    fn is_safe(&self, call: &Call) -> bool {
        call.is_repeatable() || (self.is_safe)(call)
    }

    /// Each call saves up a part of a retry.
    fn save(&self) {
        #[expect(clippy::cast_possible_truncation, reason = "a share of a thousand")]
        let part = (self.retry.budget * 1000.0) as i64;
        // More than there can be is harmless for a moment.
        if self.saved.fetch_add(part, Ordering::Relaxed) + part > MOST {
            self.saved.store(MOST, Ordering::Relaxed);
        }
    }

    /// Takes one retry, if there is one.
    fn take(&self) -> bool {
        let has_one = self.saved.fetch_sub(1000, Ordering::Relaxed) >= 1000;
        if !has_one {
            self.saved.fetch_add(1000, Ordering::Relaxed);
        }
        has_one
    }

    fn may_repeat(&self, call: &Call, failure: Failure) -> bool {
        match failure {
            Failure::Unsent => true,
            // Nobody hears of a notification that ran twice.
            Failure::MayHaveRun | Failure::ShuttingDown | Failure::Answered => {
                !call.is_notification() && self.is_safe(call)
            }
        }
    }

    /// Sends a call to a node. If this many retries may follow, and the call may be repeated, the node has the time of an attempt: a
    /// server that accepts calls and stays silent then fails like one that breaks.
    fn send(
        self: &Arc<Self>,
        call: &Call,
        retries: u32,
        tried: &mut Tried,
        reserved: &mut Reserved,
    ) -> ReplyFuture {
        let until = self.attempt_until(call, retries).filter(|_| reserved.add(self));
        let Some(until) = until else { return self.pool.call_one(call, tried) };
        let mut call = call.clone();
        call.cx.deadline = Some(until);
        call.cx.insert(OwnTime { is_of_attempt: true });
        self.pool.call_one(&call, tried)
    }

    /// When an attempt has taken too long, if that is before its caller stops waiting.
    fn attempt_until(&self, call: &Call, retries: u32) -> Option<Instant> {
        let timeout = self.retry.timeout.filter(|_| retries > 0)?;
        let until = Instant::now() + timeout;
        let is_sooner = call.cx.deadline.is_none_or(|deadline| until < deadline);
        (is_sooner && self.may_repeat(call, Failure::MayHaveRun)).then_some(until)
    }

    /// How long to wait before a hedge, if there is to be one.
    fn hedge_after(&self, call: &Call) -> Option<Duration> {
        let after = match self.hedge? {
            Hedge::After(after) => after,
            Hedge::Percentile(percent) => self.pool.percentile(percent)?,
        };
        (self.pool.len() > 1 && !call.is_notification() && self.is_safe(call)).then_some(after)
    }

    /// Waits for an answer, and for one to a second copy if that comes first. The other copy is cancelled. Also returns how many
    /// copies were sent.
    async fn hedged(
        self: &Arc<Self>,
        call: &Call,
        first: ReplyFuture,
        tried: &mut Tried,
        reserved: &mut Reserved,
    ) -> (Reply, u32) {
        let retries = self.retry.attempts;
        let Some(after) = self.hedge_after(call) else { return (first.await, 1) };
        let mut waiting = match select(first, Box::pin(tokio::time::sleep(after))).await {
            Either::Left((reply, _)) => return (reply, 1),
            Either::Right(((), first)) => first,
        };
        let mut sent = 1;
        while self.pool.has_another(*tried) && self.take() {
            sent += 1;
            self.pool.note_hedge();
            let copy = self.send(call, retries, tried, reserved);
            match select(waiting, copy).await {
                Either::Left((reply, other)) | Either::Right((reply, other)) => match Failure::of(&reply) {
                    None => return (reply, sent),
                    // The other one may never answer: a further node takes the place of the one that failed.
                    Some(_) => waiting = other,
                },
            }
        }
        (waiting.await, sent)
    }

    async fn repeat(
        self: &Arc<Self>,
        call: &Call,
        first: ReplyFuture,
        mut tried: Tried,
        mut reserved: Reserved,
    ) -> Reply {
        let (mut reply, mut sent) = self.hedged(call, first, &mut tried, &mut reserved).await;
        for attempt in 0..self.retry.attempts {
            let Some(failure) = Failure::of(&reply) else { break };
            let is_late = call.cx.time_left().is_some_and(|left| left.is_zero());
            if is_late || !self.may_repeat(call, failure) || !(reserved.spend() || self.take()) {
                break;
            }
            if !self.pool.has_another(tried) && !pause(call, attempt).await {
                break;
            }
            self.pool.note_retry();
            let retries = self.retry.attempts - attempt - 1;
            let next = self.send(call, retries, &mut tried, &mut reserved).await;
            sent += 1;
            // Once a call may have run, no later failure may say that it did not.
            let is_worse = Failure::of(&next) == Some(Failure::Unsent) && failure != Failure::Unsent;
            if !is_worse {
                reply = next;
            }
        }
        if sent > 1 && !matches!(reply.outcome, Outcome::Stream(_)) {
            reply = reply.with_metadata(ATTEMPTS, sent.to_string());
        }
        reply
    }
}

/// The retries that are reserved for a call: an attempt ends before its caller stops waiting only if another one can follow. Those that
/// are not needed are given back.
#[derive(Default)]
struct Reserved {
    of: Option<Arc<Inner>>,
    count: i64,
}

impl Reserved {
    /// Reserves one, if there is one.
    fn add(&mut self, inner: &Arc<Inner>) -> bool {
        let has_one = inner.take();
        if has_one {
            self.of.get_or_insert_with(|| Arc::clone(inner));
            self.count += 1;
        }
        has_one
    }

    /// Uses one, if one is reserved.
    fn spend(&mut self) -> bool {
        let has_one = self.count > 0;
        self.count -= i64::from(has_one);
        has_one
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(inner) = &self.of {
            inner.saved.fetch_add(self.count * 1000, Ordering::Relaxed);
        }
    }
}

/// Waits before another attempt, unless the caller will have stopped waiting by then.
async fn pause(call: &Call, attempt: u32) -> bool {
    let pause = PAUSE * 2_u32.saturating_pow(attempt.min(6));
    let pause = pause.mul_f64(0.5 + fastrand::f64());
    if call.cx.time_left().is_some_and(|left| left <= pause) {
        return false;
    }
    tokio::time::sleep(pause).await;
    true
}

impl Service for Attempts {
    fn call(&self, call: &Call) -> ReplyFuture {
        let inner = &self.0;
        inner.save();
        let (mut tried, mut reserved) = (Tried::default(), Reserved::default());
        let first = inner.send(call, inner.retry.attempts, &mut tried, &mut reserved);
        let first = match first.into_ready() {
            Ok(reply) if Failure::of(&reply).is_none() => return ReplyFuture::ready(reply),
            Ok(reply) => ReplyFuture::ready(reply),
            Err(first) => first,
        };
        let (inner, call) = (Arc::clone(inner), call.clone());
        ReplyFuture::pending(async move { inner.repeat(&call, first, tried, reserved).await })
    }
}

impl Explain for Attempts {
    fn name(&self) -> &'static str {
        "retry"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let inner = &*self.0;
        let step = match (inner.retry.attempts, inner.may_repeat(call, Failure::MayHaveRun)) {
            (0, _) => Step::new("retry", "off", "it is sent once"),
            (count, true) => Step::new(
                "retry",
                format!("up to {count}"),
                match inner.retry.timeout {
                    None => "the method is safe, so it is retried after any failure".to_owned(),
                    Some(time) => format!(
                        "the method is safe, so it is retried after any failure, and without an answer within {time:?}"
                    ),
                },
            ),
            (count, false) => Step::new(
                "retry",
                format!("up to {count}"),
                "only if it was not sent, because the method may not be safe to repeat",
            ),
        };
        steps.push(step);
        if let Some(hedge) = inner.hedge {
            let (outcome, detail) = match (inner.hedge_after(call), hedge) {
                (Some(after), _) => ("on", format!("a second copy after {after:.1?}")),
                (None, Hedge::Percentile(percent)) if inner.pool.percentile(percent).is_none() => {
                    ("not yet", format!("too few answers to know p{percent}"))
                }
                (None, _) => ("not used", "only for safe methods, and with two servers or more".to_owned()),
            };
            steps.push(Step::new("hedge", outcome, detail));
        }
        inner.pool.explain(call, steps)
    }
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { pool, retry, hedge, .. } = &*self.0;
        f.debug_struct("Attempts")
            .field("pool", pool)
            .field("retry", retry)
            .field("hedge", hedge)
            .finish_non_exhaustive()
    }
}
