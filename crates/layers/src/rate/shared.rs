//! Limits that several servers share, through a store.
//!
//! A bucket is shared as the time when it is full again. Each server decides by its own copy, so no call waits for the store. A task adds what
//! this server took since the last time to the value in the store, and so learns what all of them took:
//!
//! ```text
//! in the store:   max(full_at, now) + taken     read, then replace if it is still the same
//! in this server: max(full_at, that value)      never earlier, so nothing is given back
//! ```
//!
//! Servers that learn too late have let too much pass. That is part of the value, so it is made up for by waiting.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use aws_lc_rs::digest::{Digest, SHA256, digest};
use tokio::task::JoinSet;

use super::buckets::Buckets;
use super::gcra::Gcra;
use crate::clock::Clock;
use crate::store::{Store, StoreError, count_of};

/// How often buckets are reported to the store; each time up to a fifth earlier or later, so that servers do not meet.
const PERIOD: Duration = Duration::from_millis(200);

/// How long one exchange with the store may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many buckets are reported at once. Those that are closest to their limit come first.
const AT_ONCE: usize = 256;

/// How many buckets may wait to be reported. Calls from further ones count in this server alone.
const WAITING: usize = 16_384;

/// What is less than this share of the burst is not told until more is taken.
const SHARE: u64 = 16;

/// How many bursts may be owed: what several servers let pass before they learned of each other.
pub(super) const OWED: u64 = 4;

/// How often a value is written again that another server has changed meanwhile.
const ATTEMPTS: usize = 5;

/// How much longer than needed a value is kept, because clocks differ.
const SKEW: Duration = Duration::from_secs(5);

/// The buckets that are shared. Cheap to clone.
#[derive(Clone)]
pub(super) struct Shared(Arc<Sharing>);

struct Sharing {
    store: Arc<dyn Store>,
    clock: Clock,
    waiting: Mutex<Waiting>,
    /// Whether the last exchange failed, which was logged.
    is_failing: AtomicBool,
    failed: AtomicU64,
}

/// What is reported to the store.
#[derive(Default)]
struct Waiting {
    taken: HashMap<Which, Taken>,
    /// Whether a task tells it. It ends when nothing waits.
    is_told: bool,
}

/// A bucket: its rule, and the key of the caller; none if all callers share it.
pub(super) type Which = (usize, Option<u64>);

/// What was taken from a bucket since the store was told.
#[derive(Clone, Copy)]
struct Taken {
    name: Digest,
    gcra: Gcra,
    cost: u64,
}

impl Taken {
    /// How much that is of the burst, in parts of 1,024.
    fn share(&self) -> u64 {
        self.cost / (self.gcra.refill_time() / 1024).max(1)
    }

    fn is_due(&self) -> bool {
        self.cost > self.gcra.refill_time() / SHARE
    }
}

impl Shared {
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock) -> Shared {
        let (waiting, is_failing, failed) = (Mutex::default(), AtomicBool::default(), AtomicU64::default());
        Shared(Arc::new(Sharing { store, clock, waiting, is_failing, failed }))
    }

    /// The same store, with this clock.
    pub(super) fn with_clock(&self, clock: Clock) -> Shared {
        Shared::new(Arc::clone(&self.0.store), clock)
    }

    /// How many exchanges failed.
    pub(super) fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }

    /// Notes what was taken from a bucket. Its name in the store is needed if nothing was noted lately.
    pub(super) fn note(
        &self,
        buckets: &Arc<Buckets>,
        which: Which,
        gcra: Gcra,
        cost: u64,
        name: impl FnOnce() -> String,
    ) {
        let mut waiting = self.0.waiting();
        if let Some(taken) = waiting.taken.get_mut(&which) {
            taken.cost = taken.cost.saturating_add(cost);
            return;
        }
        // Without a runtime there is no task.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if waiting.taken.len() >= WAITING {
            return;
        }
        let name = digest(&SHA256, name().as_bytes());
        waiting.taken.insert(which, Taken { name, gcra, cost });
        if !std::mem::replace(&mut waiting.is_told, true) {
            runtime.spawn(tell(Arc::downgrade(&self.0), Arc::clone(buckets)));
        }
    }
}

/// Tells the store what was taken until nothing waits, or the limits are gone.
async fn tell(sharing: Weak<Sharing>, buckets: Arc<Buckets>) {
    loop {
        tokio::time::sleep(PERIOD.mul_f64(0.8 + 0.4 * fastrand::f64())).await;
        let Some(sharing) = sharing.upgrade() else { return };
        sharing.exchange(&buckets).await;
        let mut waiting = sharing.waiting();
        waiting.taken.retain(|which, taken| taken.cost > 0 && !buckets.is_full(*which));
        if waiting.taken.is_empty() {
            waiting.is_told = false;
            return;
        }
    }
}

impl Sharing {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since 1970, for all servers.
    fn now(&self) -> u64 {
        self.clock.millis().saturating_mul(1_000_000)
    }

    /// Tells the store about the buckets that are due.
    async fn exchange(self: &Arc<Sharing>, buckets: &Arc<Buckets>) {
        let mut telling = JoinSet::new();
        for (which, taken) in self.due() {
            let (sharing, buckets) = (Arc::clone(self), Arc::clone(buckets));
            telling.spawn(async move {
                let told = tokio::time::timeout(PATIENCE, sharing.add(&taken, &buckets)).await;
                let late = |_| StoreError::Unavailable("no answer within 1 s".to_owned());
                (which, taken, told.map_err(late).and_then(|told| told))
            });
        }
        while let Some(told) = telling.join_next().await {
            let Ok((which, taken, told)) = told else { continue };
            self.log(told.as_ref().err());
            let mut waiting = self.waiting();
            let later = waiting.taken.get_mut(&which);
            match told {
                // What was taken meanwhile comes on top.
                Ok(Some(full_at)) => {
                    let since = later.map_or(0, |later| later.cost);
                    drop(waiting);
                    buckets.raise(which, full_at.saturating_add(since));
                }
                // Too many servers wrote at once.
                Ok(None) => {
                    later.into_iter().for_each(|later| later.cost = later.cost.saturating_add(taken.cost));
                }
                // It may have been added, and must not be added twice.
                Err(_) => {}
            }
        }
    }

    /// The buckets to tell about now.
    fn due(&self) -> Vec<(Which, Taken)> {
        let mut waiting = self.waiting();
        let is_due = waiting.taken.iter().filter(|(_, taken)| taken.is_due());
        let mut due: Vec<_> = is_due.map(|(which, taken)| (*which, *taken)).collect();
        if due.len() > AT_ONCE {
            due.select_nth_unstable_by_key(AT_ONCE, |(_, taken)| Reverse(taken.share()));
            due.truncate(AT_ONCE);
        }
        for (which, _) in &due {
            waiting.taken.get_mut(which).into_iter().for_each(|taken| taken.cost = 0);
        }
        due
    }

    /// Adds what was taken, and returns when the bucket is full again, by the clock of the buckets. None if other servers were always faster.
    async fn add(&self, taken: &Taken, buckets: &Buckets) -> Result<Option<u64>, StoreError> {
        let key = taken.name.as_ref();
        for _ in 0..ATTEMPTS {
            let found = self.store.read(key).await?;
            let full_at = found.as_deref().map(count_of).transpose()?.unwrap_or(0);
            let (now, here) = (self.now(), buckets.now());
            let left = full_at.saturating_sub(now).saturating_add(taken.cost);
            let left = left.min(taken.gcra.refill_time().saturating_mul(OWED));
            let (value, time) = (now.saturating_add(left).to_le_bytes(), Duration::from_nanos(left) + SKEW);
            let is_written = match &found {
                None => self.store.insert(key, &value, time).await?,
                Some(found) => self.store.replace(key, found, &value, time).await?,
            };
            if is_written {
                return Ok(Some(here.saturating_add(left)));
            }
            tokio::time::sleep(Duration::from_micros(fastrand::u64(0..2000))).await;
        }
        Ok(None)
    }

    fn log(&self, error: Option<&StoreError>) {
        self.failed.fetch_add(u64::from(error.is_some()), Ordering::Relaxed);
        if self.is_failing.swap(error.is_some(), Ordering::Relaxed) == error.is_some() {
            return;
        }
        match error {
            Some(error) => {
                tracing::error!(%error, "cannot share rate limits through the store; each server applies its own");
            }
            None => tracing::info!("rate limits are shared through the store again"),
        }
    }
}
