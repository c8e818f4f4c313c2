//! The layer that runs calls with the same key once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{Context as Digest, SHA256};
use switchboard_core::{Call, ErrorObject, FromContext as _, Layer, Reply, ReplyFuture, Service};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::answer::{BodyDigest, Record, Run, State, in_progress};
use super::flights::{Boarding, Flight, Flights, followed};
use crate::clock::Clock;
use crate::identity::Identity;
use crate::signing::idempotency_key;
use crate::store::{Store, StoreError};

/// How long an outcome waits for the store, and how long between two attempts.
const SETTLING: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// How many outcomes wait for the store at most.
const UNSETTLED: usize = 1000;

/// How keys are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdempotencyOptions {
    /// How long an answer is kept. Default: 24 hours.
    pub retention: Duration,
    /// How long a call may run. Default: 60 seconds.
    pub call_time: Duration,
    /// The largest answer that is kept, in bytes. Default: 64 KiB.
    pub largest: usize,
    /// How many calls with keys run at once. Default: 10,000.
    pub concurrent: usize,
}

impl Default for IdempotencyOptions {
    fn default() -> IdempotencyOptions {
        IdempotencyOptions {
            retention: Duration::from_secs(24 * 3600),
            call_time: Duration::from_secs(60),
            largest: 64 * 1024,
            concurrent: 10_000,
        }
    }
}

impl IdempotencyOptions {
    /// Sets how long an answer is kept.
    #[must_use]
    pub fn with_retention(self, retention: Duration) -> IdempotencyOptions {
        IdempotencyOptions { retention, ..self }
    }

    /// Sets how long a call may run.
    #[must_use]
    pub fn with_call_time(self, call_time: Duration) -> IdempotencyOptions {
        IdempotencyOptions { call_time, ..self }
    }

    /// Sets the largest answer that is kept.
    #[must_use]
    pub fn with_largest(self, largest: usize) -> IdempotencyOptions {
        IdempotencyOptions { largest, ..self }
    }

    /// Sets how many calls with keys run at once.
    #[must_use]
    pub fn with_concurrent(self, concurrent: usize) -> IdempotencyOptions {
        IdempotencyOptions { concurrent, ..self }
    }
}

/// Runs calls that have the same idempotency key once, and gives all of them the same answer. Calls without a key pass.
///
/// A call with a key continues when its caller disconnects, so that a retry gets its answer. Errors that say that a call did not
/// run (-32002, -32005, -32006, a server that was not reached) or was cancelled (-32800) are not kept. If the process dies while a call runs, retries get an error, because the
/// call may have run; it is not run again before its retention is over. Put this layer inside those that authenticate and refuse calls.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_layers::idempotency::Idempotency;
/// use switchboard_layers::store::MemoryStore;
///
/// let router = Router::builder().method("pay", |_: (u64,), _| Ok::<_, ErrorObject>("paid")).build()?;
/// let service = router.layered(Idempotency::new(Arc::new(MemoryStore::default())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Idempotency {
    store: Arc<dyn Store>,
    options: IdempotencyOptions,
    flights: Flights,
    clock: Clock,
    /// How many more outcomes may wait for the store.
    unsettled: Arc<Semaphore>,
}

impl Idempotency {
    /// Keeps answers in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Idempotency {
        Idempotency {
            store,
            options: IdempotencyOptions::default(),
            flights: Flights::default(),
            clock: Clock::system(),
            unsettled: Arc::new(Semaphore::new(UNSETTLED)),
        }
    }

    /// Tells the time by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Idempotency {
        Idempotency { clock, ..self }
    }

    /// Sets how keys are remembered.
    #[must_use]
    pub fn with_options(self, options: IdempotencyOptions) -> Idempotency {
        Idempotency { options, ..self }
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Layer for Idempotency {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Once { idempotency: self.clone(), inner })
    }
}

/// A service behind [`Idempotency`].
struct Once {
    idempotency: Idempotency,
    inner: Arc<dyn Service>,
}

impl Service for Once {
    fn call(&self, call: &Call) -> ReplyFuture {
        let key = match idempotency_key(call.cx.metadata()) {
            Ok(None) => return self.inner.call(call),
            Ok(Some(key)) => store_key(call, key),
            Err(_) => {
                let text = "the idempotency key must be 1 to 256 visible ASCII characters, given once";
                return ReplyFuture::ready(ErrorObject::invalid_request(text));
            }
        };
        let body = body_of(call);
        let Idempotency { flights, options, .. } = &self.idempotency;
        match flights.board(key, options.concurrent) {
            Boarding::Full => {
                let text = "too many calls with idempotency keys are in progress; try again later";
                ReplyFuture::ready(ErrorObject::over_limit("idempotency.concurrent", text))
            }
            Boarding::Follower(receiver) => {
                let clock = self.idempotency.clock.clone();
                ReplyFuture::pending(async move {
                    let record = followed(receiver).await;
                    record.map_or_else(in_progress, |record| record.reply(&body, clock.millis()))
                })
            }
            Boarding::First(flight) => {
                let (idempotency, inner, call) =
                    (self.idempotency.clone(), Arc::clone(&self.inner), call.clone());
                // It goes on if the caller is gone: that is when callers try again.
                let claim = Claim::new(key, body, idempotency.clock.millis(), options.call_time);
                let task = tokio::spawn(async move { idempotency.run(&inner, &call, claim, flight).await });
                ReplyFuture::pending(async move { task.await.unwrap_or_else(|_| in_progress()) })
            }
        }
    }
}

impl Idempotency {
    /// Runs the only call with a key in this process, unless its answer is known.
    async fn run(&self, inner: &Arc<dyn Service>, call: &Call, claim: Claim, flight: Flight) -> Reply {
        let Claim { key, body, .. } = claim;
        match self.store.insert(&key, &claim.running, self.options.retention).await {
            Ok(true) => {}
            Ok(false) => return self.known(&key, &body, flight).await,
            Err(error) => {
                // It may be there all the same.
                drop(flight);
                self.settle(claim, None);
                return unavailable(&error);
            }
        }
        let reply = tokio::time::timeout(self.options.call_time, inner.call(call)).await;
        let reply = reply.unwrap_or_else(|_| Reply::error(ErrorObject::timed_out()));
        let state = State::of(&reply, self.options.largest);
        let record = state.map(|state| Record { body, state });
        let is_settled = self.is_settled(&claim, record.as_ref()).await;
        if let Some(record) = &record {
            flight.land(record.clone());
        }
        if !is_settled {
            self.settle(claim, record);
        }
        reply
    }

    /// The answer of an earlier call.
    async fn known(&self, key: &[u8], body: &BodyDigest, flight: Flight) -> Reply {
        match self.store.read(key).await {
            Ok(Some(bytes)) => match Record::from_bytes(&bytes) {
                Some(record) => {
                    let reply = record.reply(body, self.clock.millis());
                    flight.land(record);
                    reply
                }
                None => in_progress(),
            },
            // It expired meanwhile.
            Ok(None) => in_progress(),
            Err(error) => unavailable(&error),
        }
    }

    /// Keeps the answer to a call, or removes its key if it did not run. The call has ended, and its caller is answered, so this goes on when the store
    /// fails, for a while. What is there until then says that the call runs.
    fn settle(&self, claim: Claim, record: Option<Record>) {
        let Ok(permit) = Arc::clone(&self.unsettled).try_acquire_owned() else { return };
        let idempotency = self.clone();
        tokio::spawn(async move {
            let last = Instant::now() + SETTLING;
            while Instant::now() < last {
                tokio::time::sleep(PAUSE).await;
                if idempotency.is_settled(&claim, record.as_ref()).await {
                    break;
                }
            }
            drop(permit);
        });
    }

    /// Tries that once.
    async fn is_settled(&self, claim: &Claim, record: Option<&Record>) -> bool {
        let Claim { key, running, .. } = claim;
        let settled = match record {
            Some(record) => {
                let kept = self.store.replace(key, running, &record.to_bytes(), self.options.retention).await;
                kept.map(|is_kept| {
                    if !is_kept {
                        tracing::warn!("an idempotency key has expired before its call ended");
                    }
                })
            }
            // Nobody else replaces what only this call has written.
            None => match self.store.read(key).await {
                Ok(Some(found)) if found == *running => self.store.remove(key).await,
                found => found.map(drop),
            },
        };
        if let Err(error) = &settled {
            tracing::warn!(%error, "the outcome of a call with an idempotency key was not stored yet");
        }
        settled.is_ok()
    }
}

/// A key that a call of this process has, or tries to get.
struct Claim {
    key: [u8; 32],
    body: BodyDigest,
    /// What is stored under the key while the call runs.
    running: Vec<u8>,
}

impl Claim {
    fn new(key: [u8; 32], body: BodyDigest, now: u64, time: Duration) -> Claim {
        let running = Record { body, state: State::Running(Run::new(now, time)) }.to_bytes();
        Claim { key, body, running }
    }
}

/// Without the store no call with a key may run: it may have run before.
fn unavailable(error: &StoreError) -> Reply {
    tracing::error!(%error, "cannot remember an idempotency key");
    let text = "calls with idempotency keys cannot be accepted now; try again later";
    Reply::error(ErrorObject::over_limit("idempotency.store", text)).with_status(503)
}

/// Where the answer to a call with this key is kept: a key belongs to its caller.
fn store_key(call: &Call, key: &str) -> [u8; 32] {
    let caller = match (Identity::from_context(&call.cx), call.cx.origin().address) {
        (Some(identity), _) => format!("subject {}", identity.subject),
        (None, Some(address)) => format!("address {}", address.ip()),
        (None, None) => String::new(),
    };
    // Callers that only a server behind this one can tell apart differ in what they present to it.
    let presented = |name| call.cx.metadata().get(name).unwrap_or_default();
    let [authorization, cookie, api_key] = ["authorization", "cookie", "x-api-key"].map(presented);
    match Identity::from_context(&call.cx) {
        Some(_) => digest(&[b"idempotency", caller.as_bytes(), key.as_bytes()]),
        None => digest(&[b"idempotency", caller.as_bytes(), key.as_bytes(), authorization, cookie, api_key]),
    }
}

/// What a call asks for.
fn body_of(call: &Call) -> BodyDigest {
    let params = call.params.as_ref().map_or(&b""[..], |params| params.as_bytes());
    digest(&[call.method.as_str().as_bytes(), params])
}

/// The digest of these parts, each with its length.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Digest::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}
