//! Giving a failing upstream a rest.

mod status;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::{Call, CallError, ErrorObject, Layer, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::time::Instant;

pub use self::status::BreakerState;
use crate::ratio::Ratio;
use crate::verdict::{Patience, Verdict};

/// The period over which failures are counted.
const PERIOD: Duration = Duration::from_secs(10);

/// The fewest calls that say anything.
const LEAST: u64 = 20;

/// A circuit breaker: when too many calls fail, further ones fail at once with -32004 for a while. Then one call is let through; if it
/// succeeds, so are all others.
///
/// A call fails when it gets no answer, or when the server is shutting down. Errors that the server sends are answers, and a call whose
/// caller did not wait says nothing: no caller can open the breaker. Clones share their state.
///
/// # Examples
///
/// ```
/// use switchboard_core::Router;
/// use switchboard_gateway::Breaker;
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let service = Router::builder().build()?.layered(Breaker::default());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Breaker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    errors: f64,
    open: Duration,
    failures: Ratio,
    state: Mutex<State>,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    OpenUntil(Instant),
    /// One call is on its way; if it does not return, the next one may try at this time.
    HalfOpen(Instant),
}

impl Default for Breaker {
    /// Opens for 5 s when half of the calls fail.
    fn default() -> Breaker {
        Breaker::new(0.5, Duration::from_secs(5))
    }
}

impl Breaker {
    /// Opens for this long when this share of the calls fails. Twenty calls are needed for a verdict.
    #[must_use]
    pub fn new(errors: f64, open: Duration) -> Breaker {
        let failures = Ratio::new(PERIOD);
        let (state, refused) = (Mutex::new(State::Closed), AtomicU64::new(0));
        Breaker(Arc::new(Inner { errors, open, failures, state, refused }))
    }

    /// Whether calls fail at once.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.0.state.lock().unwrap_or_else(PoisonError::into_inner) != State::Closed
    }
}

impl Breaker {
    /// For how long no call is let through, if none is.
    fn rest(&self) -> Option<Duration> {
        let until = match *self.0.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Closed => return None,
            State::OpenUntil(until) | State::HalfOpen(until) => until,
        };
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

impl Inner {
    /// Lets a call through, or says how long none is.
    fn admit(&self) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let until = match *state {
            State::Closed => return Ok(()),
            State::OpenUntil(until) | State::HalfOpen(until) => until,
        };
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        if !left.is_zero() {
            return Err(left);
        }
        *state = State::HalfOpen(now + self.open);
        Ok(())
    }

    fn note(&self, reply: &Reply, patience: Patience) {
        let now = Instant::now();
        let verdict = patience.verdict(reply, now);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if verdict == Verdict::Unknown {
            // The next call may try.
            if let State::HalfOpen(_) = *state {
                *state = State::OpenUntil(now);
            }
            return;
        }
        let has_failed = verdict == Verdict::Fails;
        let count = self.failures.count(has_failed, now);
        let next = match (*state, has_failed) {
            (State::HalfOpen(_), false) => State::Closed,
            (State::HalfOpen(_), true) => State::OpenUntil(now + self.open),
            (State::Closed, true) if count.is_above(self.errors, LEAST) => State::OpenUntil(now + self.open),
            (same, _) => same,
        };
        if next != *state && next == State::Closed {
            self.failures.reset();
        }
        *state = next;
    }
}

impl Layer for Breaker {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Guarded { breaker: Arc::clone(&self.0), service })
    }
}

impl Explain for Breaker {
    fn name(&self) -> &'static str {
        "breaker"
    }

    fn explain(&self, _: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        if let Some(left) = self.rest() {
            let detail = format!("too many calls failed; none is sent for another {left:.1?}");
            steps.push(Step::new(self.name(), "open", detail));
            return ControlFlow::Break(Conclusion::Refused(open(left)));
        }
        let (outcome, detail) = match self.is_open() {
            true => ("half-open", "this call would be let through to see whether the upstream works again"),
            false => ("closed", "calls pass"),
        };
        steps.push(Step::new(self.name(), outcome, detail));
        ControlFlow::Continue(())
    }
}

struct Guarded {
    breaker: Arc<Inner>,
    service: Arc<dyn Service>,
}

impl Service for Guarded {
    fn call(&self, call: &Call) -> ReplyFuture {
        if let Err(left) = self.breaker.admit() {
            self.breaker.refused.fetch_add(1, Ordering::Relaxed);
            return ReplyFuture::ready(open(left));
        }
        let (breaker, patience) = (Arc::clone(&self.breaker), Patience::of(call));
        self.service.call(call).map(move |reply| {
            breaker.note(&reply, patience);
            reply
        })
    }
}

fn open(left: Duration) -> ErrorObject {
    let wait = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
    let error = ErrorObject::from(CallError::Unreachable("the circuit breaker is open".into()));
    error.with_data(&serde_json::json!({ "retryAfterMs": wait }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use switchboard_core::{CallError, Code, Json, Peer, service_fn};

    use super::*;

    struct Fixture {
        peer: Peer,
        breaker: Breaker,
        is_broken: Arc<AtomicBool>,
        asked: Arc<AtomicU64>,
    }

    fn fixture() -> Fixture {
        let (is_broken, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (broken, count) = (Arc::clone(&is_broken), Arc::clone(&asked));
        let service = service_fn(move |_: &Call| {
            count.fetch_add(1, Ordering::Relaxed);
            ReplyFuture::ready(match broken.load(Ordering::Relaxed) {
                false => Reply::value(Json::TRUE),
                true => Reply::error(CallError::Closed("gone".into()).into()),
            })
        });
        let breaker = Breaker::default();
        let peer = Peer::from(breaker.layer(Arc::new(service)));
        Fixture { peer, breaker, is_broken, asked }
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_rests_tries_once_and_closes() {
        let Fixture { peer, breaker, is_broken, asked } = fixture();
        let call = async || peer.call::<bool>("m", ()).await;
        for _ in 0..LEAST {
            assert_eq!(call().await, Ok(true));
        }
        is_broken.store(true, Ordering::Relaxed);
        for _ in 0..LEAST {
            assert!(matches!(call().await, Err(CallError::Closed(_))));
        }
        assert!(breaker.is_open());
        assert_eq!(breaker.state(), BreakerState::Open { for_another: Duration::from_secs(5) });
        let before = asked.load(Ordering::Relaxed);
        let refused = call().await.expect_err("it is open");
        assert!(refused.is_unsent(), "{refused:?}");
        assert_eq!((asked.load(Ordering::Relaxed), breaker.refused()), (before, 1));
        // A failed attempt opens it again.
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(matches!(call().await, Err(CallError::Closed(_))));
        assert!(matches!(call().await, Err(CallError::Unreachable(_))));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        is_broken.store(false, Ordering::Relaxed);
        assert_eq!(call().await, Ok(true));
        assert!(!breaker.is_open());
        assert_eq!(call().await, Ok(true));
    }

    #[tokio::test(start_paused = true)]
    async fn no_caller_can_open_it() {
        let service = service_fn(|call: &Call| match call.method.as_str() {
            "slow" => ReplyFuture::pending(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Reply::error(CallError::TimedOut.into())
            }),
            _ => ReplyFuture::ready(ErrorObject::from_code(Code::INTERNAL_ERROR)),
        });
        let breaker = Breaker::default();
        let service = breaker.layer(Arc::new(service));
        for _ in 0..2 * LEAST {
            let mut call = Call::new("slow", None);
            call.cx.deadline = Some(Instant::now() + Duration::from_millis(1));
            drop(service.call(&call).await);
            drop(service.call(&Call::new("fails", None)).await);
        }
        assert!(!breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn an_operator_closes_it_at_once() {
        let Fixture { peer, breaker, is_broken, .. } = fixture();
        is_broken.store(true, Ordering::Relaxed);
        for _ in 0..LEAST {
            assert!(peer.call::<bool>("m", ()).await.is_err());
        }
        assert!(breaker.is_open());
        is_broken.store(false, Ordering::Relaxed);
        breaker.close();
        assert_eq!((peer.call::<bool>("m", ()).await, breaker.state()), (Ok(true), BreakerState::Closed));
    }
}
