//! One server of an upstream.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::{Call, Reply, ReplyFuture, Service};
use switchboard_layers::Reopens;
use tokio::time::Instant;

use super::health::Probe;
use super::open_calls::NodeCalls;
use crate::link::OpenConnections;
use crate::pinned::NodeId;
use crate::ratio::Ratio;
use crate::verdict::{Failure, Patience, Verdict, reason};

/// The period over which failures of a node are counted.
const PERIOD: Duration = Duration::from_secs(10);

/// How long a node that has come back gets less than its share of calls.
const SLOW_START: Duration = Duration::from_secs(10);

/// How long other nodes are preferred after a failure, doubled with each one in a row, and at most.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(5);

/// What a call to a node that has just failed is expected to take, in seconds.
const FAILED: f64 = 1.0;

/// One of the servers that answer for an upstream.
pub struct Node {
    pub(super) name: Arc<str>,
    pub(super) weight: u32,
    pub(super) priority: u32,
    pub(super) probe: Option<Arc<dyn Probe>>,
    pub(super) id: NodeId,
    pub(super) open: NodeCalls,
    /// The streams that are opened again if they end, so that another node can have them.
    movable: Mutex<NodeCalls>,
    pub(super) connections: Option<OpenConnections>,
    service: Arc<dyn Service>,
    pub(super) counts: Counts,
    in_flight: AtomicU32,
    /// A moving average of the time that answers take, in nanoseconds; 0 before the first one.
    latency: AtomicU64,
    pub(super) failures: Ratio,
    /// Whether there is anything to know about it: calls to an ordinary node do not look at its state.
    is_special: AtomicBool,
    state: Mutex<State>,
}

/// How many calls a node has got, and how many of them it has failed.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) calls: AtomicU64,
    pub(super) failures: AtomicU64,
}

/// What is known about a node.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Why its health checks fail, if they do.
    pub(super) down: Option<Arc<str>>,
    /// Health checks in a row with the same result: failed ones are negative.
    pub(super) streak: i32,
    /// How current it is, as its health check says.
    pub(super) height: Option<u64>,
    /// How far it is behind the best one, if that is too far.
    pub(super) lag: Option<u64>,
    /// Until when it is ejected.
    pub(super) ejected: Option<Instant>,
    /// Why it was ejected last.
    pub(super) ejected_because: Option<Arc<str>>,
    /// How often it was ejected without a good time in between.
    pub(super) ejections: u32,
    /// Whether an operator took it out.
    pub(super) is_drained: bool,
    /// Since when it has been available again, if it was not.
    pub(super) back: Option<Instant>,
    /// How many calls in a row have failed.
    pub(super) strikes: u32,
    /// Until when other nodes are preferred, and how the last call failed.
    rests: Option<(Instant, Failure)>,
    /// Why a call failed last, and when.
    pub(super) last_error: Option<(Arc<str>, Instant)>,
}

impl State {
    fn is_special(&self) -> bool {
        self.is_drained
            || self.down.is_some()
            || self.lag.is_some()
            || self.ejected.is_some()
            || self.back.is_some()
            || self.strikes > 0
    }

    /// Counts how a call ended.
    fn note(&mut self, failure: Option<Failure>, now: Instant) {
        let Some(failure) = failure else {
            (self.strikes, self.rests) = (0, None);
            return;
        };
        let rest = REST * 2_u32.pow(self.strikes.min(10));
        self.strikes = self.strikes.saturating_add(1);
        self.rests = Some((now + rest.min(LONGEST_REST), failure));
    }

    /// How the last call failed, if that was just now.
    fn failed(&self, now: Instant) -> Option<Failure> {
        self.rests.filter(|(until, _)| now < *until).map(|(_, failure)| failure)
    }

    fn skipped(&mut self, now: Instant) -> Option<Skipped> {
        if self.back.is_some_and(|back| now.saturating_duration_since(back) >= SLOW_START) {
            self.back = None;
        }
        if self.is_drained {
            return Some(Skipped::Drained);
        }
        if let Some(reason) = &self.down {
            return Some(Skipped::Down(Arc::clone(reason)));
        }
        if let Some(lag) = self.lag {
            return Some(Skipped::Lagging(lag));
        }
        let for_another = self.ejected?.saturating_duration_since(now);
        if for_another.is_zero() {
            (self.ejected, self.back) = (None, Some(now));
            return None;
        }
        Some(Skipped::Ejected { for_another })
    }
}

/// Why a node gets no calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// An operator took it out.
    Drained,
    /// Its health checks fail; the text says how.
    Down(Arc<str>),
    /// It is this far behind the most current node.
    Lagging(u64),
    /// Too many of its calls failed, or it was too slow, so it gets none for a while.
    Ejected {
        /// For how long.
        for_another: Duration,
    },
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::Drained => f.write_str("taken out by an operator"),
            Skipped::Down(reason) => write!(f, "down: {reason}"),
            Skipped::Lagging(lag) => write!(f, "{lag} behind"),
            Skipped::Ejected { for_another } => {
                write!(f, "ejected for another {:.1} s", for_another.as_secs_f64())
            }
        }
    }
}

impl Node {
    /// A server that answers calls. The name is for people: it must not contain secrets.
    pub fn new(name: impl Into<Arc<str>>, service: impl Service) -> Node {
        Node {
            name: name.into(),
            weight: 1,
            priority: 1,
            probe: None,
            id: NodeId::new(),
            open: NodeCalls::default(),
            movable: Mutex::default(),
            connections: None,
            service: Arc::new(service),
            counts: Counts::default(),
            in_flight: AtomicU32::new(0),
            latency: AtomicU64::new(0),
            failures: Ratio::new(PERIOD),
            is_special: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Sets its share of the calls, relative to that of other nodes: 1 by default.
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Node {
        self.weight = weight.max(1);
        self
    }

    /// Sets its priority, 1 by default: it gets calls only while no node with a lower number is available.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Node {
        self.priority = priority;
        self
    }

    /// Sets how its health is checked.
    #[must_use]
    pub fn with_probe(mut self, probe: impl Probe) -> Node {
        self.probe = Some(Arc::new(probe));
        self
    }

    /// Shows how many connections to it are open.
    #[must_use]
    pub fn counting(mut self, connections: OpenConnections) -> Node {
        self.connections = Some(connections);
        self
    }

    /// Looks at its state, or changes it.
    pub(super) fn with_state<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        self.is_special.store(state.is_special(), Ordering::Relaxed);
        result
    }

    /// Why it gets no calls now, if it gets none.
    pub(super) fn skipped(&self, now: Instant) -> Option<Skipped> {
        if !self.is_special.load(Ordering::Relaxed) {
            return None;
        }
        self.with_state(|state| state.skipped(now))
    }

    /// How busy it is, relative to its weight: the time that a further call would probably take.
    pub(super) fn load(&self, now: Instant) -> f64 {
        let waiting = f64::from(self.in_flight.load(Ordering::Relaxed)) + 1.0;
        // A node without answers yet looks as fast as possible, so that it gets its first ones.
        let latency = Duration::from_nanos(self.latency.load(Ordering::Relaxed)).as_secs_f64().max(1e-6);
        // Nor does one that fails at once look fast.
        let latency = if self.failed(now).is_some() { latency.max(FAILED) } else { latency };
        waiting * latency / self.share(now)
    }

    /// Whether it could not be reached, or said that it is shutting down, just now.
    pub(super) fn is_resting(&self, now: Instant) -> bool {
        matches!(self.failed(now), Some(Failure::Unsent | Failure::ShuttingDown))
    }

    fn failed(&self, now: Instant) -> Option<Failure> {
        if !self.is_special.load(Ordering::Relaxed) {
            return None;
        }
        self.with_state(|state| state.failed(now))
    }

    /// Its weight, reduced while it has just come back.
    pub(super) fn share(&self, now: Instant) -> f64 {
        let weight = f64::from(self.weight);
        if !self.is_special.load(Ordering::Relaxed) {
            return weight;
        }
        self.with_state(|state| {
            let Some(back) = state.back else { return weight };
            let passed = now.saturating_duration_since(back).as_secs_f64() / SLOW_START.as_secs_f64();
            weight * passed.clamp(0.1, 1.0)
        })
    }

    /// Forwards a call, which begins now.
    pub(super) fn call(
        self: &Arc<Self>,
        call: &Call,
        now: Instant,
        ended: impl FnOnce(&Ended) + Send + 'static,
    ) -> ReplyFuture {
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let flight = Flight { node: Arc::clone(self), begun: now, patience: Patience::of(call) };
        let movable = call.cx.get::<Reopens>().map(|_| self.movable().clone());
        let finish = |flight: Flight, reply: Reply| {
            let reply = flight.node.open.note(reply);
            let reply = match movable {
                Some(streams) => streams.note_movable(reply),
                None => reply,
            };
            ended(&flight.end(&reply));
            reply
        };
        match self.service.call(call).into_ready() {
            Ok(reply) => ReplyFuture::ready(finish(flight, reply)),
            Err(reply) => reply.through(|reply| async move {
                let reply = flight.patience.reply(flight.node.open.until_end(reply)).await;
                finish(flight, reply)
            }),
        }
    }

    fn movable(&self) -> MutexGuard<'_, NodeCalls> {
        self.movable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the streams that are opened again elsewhere, because it should get no more calls.
    pub(super) fn move_streams(&self) {
        let streams = std::mem::take(&mut *self.movable());
        streams.end();
    }

    /// Calls in progress.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The time that answers take, as a moving average.
    #[must_use]
    pub fn latency(&self) -> Duration {
        Duration::from_nanos(self.latency.load(Ordering::Relaxed))
    }
}

/// A call in progress. It counts until it has ended or was dropped.
struct Flight {
    node: Arc<Node>,
    begun: Instant,
    patience: Patience,
}

/// How a call ended.
pub(super) struct Ended {
    pub(super) failure: Option<Failure>,
    pub(super) verdict: Verdict,
    /// Why it failed, if it did.
    pub(super) reason: Option<Arc<str>>,
    pub(super) at: Instant,
    pub(super) took: Duration,
}

impl Flight {
    fn end(self, reply: &Reply) -> Ended {
        let at = Instant::now();
        let (failure, took) = (Failure::of(reply), at.saturating_duration_since(self.begun));
        let verdict = self.patience.verdict(reply, at);
        let reason: Option<Arc<str>> = failure.and_then(|_| reason(reply)).map(Into::into);
        if let Some(reason) = &reason {
            self.node.with_state(|state| state.last_error = Some((Arc::clone(reason), at)));
        }
        // Failures are often fast: they must not make a node look good.
        match failure {
            None => self.node.note_latency(took),
            Some(_) => drop(self.node.counts.failures.fetch_add(1, Ordering::Relaxed)),
        }
        if verdict != Verdict::Unknown && (failure.is_some() || self.node.is_special.load(Ordering::Relaxed))
        {
            self.node.with_state(|state| state.note(failure, at));
        }
        Ended { failure, verdict, reason, at, took }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.node.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Node {
    fn note_latency(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let before = self.latency.load(Ordering::Relaxed);
        // Two answers at once may overwrite each other; an average bears that.
        let after = if before == 0 { took } else { before - before / 8 + took / 8 };
        self.latency.store(after.max(1), Ordering::Relaxed);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Node { name, weight, priority, in_flight, state, .. } = self;
        f.debug_struct("Node")
            .field("name", name)
            .field("weight", weight)
            .field("priority", priority)
            .field("in_flight", in_flight)
            .field("state", state)
            .finish_non_exhaustive()
    }
}
