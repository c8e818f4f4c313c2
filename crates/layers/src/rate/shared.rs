//! Counters in a store, which several servers can share.
//!
//! A call that passes the limits of this server is added to one counter per rule. A counter counts the calls of one caller in one window, which
//! is as long as it takes to regain the whole burst, and has room for the burst. One addition decides, so servers never wait for each
//! other, and refused calls of this server cost the store nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};

use super::gcra::Gcra;
use super::{RateExceeded, RateRule};
use crate::clock::Clock;
use crate::store::{Store, StoreError, StoreFuture};

/// How long a call waits for the store. Then the limits of this server decide alone.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much longer than its window a counter is kept, at most, because clocks of several servers differ.
const SKEW: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    /// Whether the last addition failed, which was logged.
    is_failing: Arc<AtomicBool>,
}

/// The counter of a rule, for one caller and one window.
pub(super) struct Counter {
    rule: usize,
    room: u64,
    /// The time until the window ends.
    left: Duration,
}

/// A call that is being added to a counter.
pub(super) struct Counting {
    counter: Counter,
    added: StoreFuture<u64>,
}

/// A counter, and how many calls it has.
pub(super) type Counted = (Counter, Result<u64, StoreError>);

impl Shared {
    pub(super) fn new(store: Arc<dyn Store>) -> Shared {
        Shared { store, clock: Clock::system(), is_failing: Arc::default() }
    }

    /// Adds a call of this weight to the counter of a caller.
    pub(super) fn count(
        &self,
        index: usize,
        rule: &RateRule,
        gcra: Gcra,
        caller: &str,
        weight: u32,
    ) -> Counting {
        let (room, window) = (gcra.burst(), gcra.refill_time());
        // Servers with other rules have other counters.
        let text = format!("rate\n{index} {} {room} {}\n{caller}", rule.rate, rule.by);
        let digest = digest(&SHA256, text.as_bytes());
        let (name, rest) = digest.as_ref().split_at(16);
        // The windows of callers begin at different times, so that not all come back at once.
        let offset = rest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) % window;
        let now = self.clock.millis().saturating_mul(1_000_000).saturating_add(offset);
        let left = Duration::from_nanos(window - now % window);
        let key = [name, &(now / window).to_le_bytes()].concat();
        let amount = u64::from(weight).min(room);
        let time = left + SKEW.min(Duration::from_nanos(window));
        let added = self.store.add(&key, amount, time);
        Counting { counter: Counter { rule: index, room, left }, added }
    }

    /// Whether all counters have room. Without an answer of the store they have.
    pub(super) fn decide(&self, counted: &[Counted]) -> Result<(), RateExceeded> {
        let mut exceeded: Option<RateExceeded> = None;
        for (Counter { rule, room, left }, count) in counted {
            match count {
                Ok(count) if count <= room => {}
                Ok(_) if exceeded.is_some_and(|exceeded| exceeded.wait >= *left) => {}
                Ok(_) => exceeded = Some(RateExceeded { rule: *rule, wait: *left }),
                Err(_) => {}
            }
        }
        self.log(counted.iter().find_map(|(_, count)| count.as_ref().err()));
        exceeded.map_or(Ok(()), Err)
    }

    fn log(&self, error: Option<&StoreError>) {
        let was_failing = self.is_failing.load(Ordering::Relaxed);
        if was_failing == error.is_some() {
            return;
        }
        self.is_failing.store(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) => {
                tracing::error!(%error, "cannot count calls in the store; the limits of this server apply alone");
            }
            None => tracing::info!("calls are counted in the store again"),
        }
    }
}

impl Counting {
    /// The count if it is known.
    pub(super) fn into_ready(self) -> Result<Counted, Counting> {
        let Counting { counter, added } = self;
        match added.into_ready() {
            Ok(count) => Ok((counter, count)),
            Err(added) => Err(Counting { counter, added }),
        }
    }

    /// The count, or an error if it does not arrive in time.
    pub(super) async fn counted(self) -> Counted {
        let count = tokio::time::timeout(PATIENCE, self.added).await;
        let late = || StoreError::Unavailable("no answer within 1 s".to_owned());
        (self.counter, count.unwrap_or_else(|_| Err(late())))
    }
}
