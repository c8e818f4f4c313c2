//! The second level of a cache: a store that several servers share.
//!
//! Answers are stored under a digest of the key of their call, and of the *generation* of the cache: a random number, also in the store. To clear the
//! cache is to replace it, so that answers from before are not found any more. Every server looks at the generation about twice a second, and
//! forgets what it has when it is another one. While a server does not know the generation, it uses its own answers only.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use switchboard_core::Reply;
use tokio::sync::{Notify, Semaphore};

use super::State;
use super::stored::{self, Times};
use crate::clock::Clock;
use crate::store::{MAX_VALUE, Store, StoreError, put};

/// How often the generation is looked at.
const PERIOD: Duration = Duration::from_millis(500);

/// How long a call waits for the store before it is made without.
const PATIENCE: Duration = Duration::from_millis(250);

/// How many answers are being stored at once. Others are not stored.
const WRITES: usize = 64;

/// A store behind a cache.
pub(super) struct Level {
    store: Arc<dyn Store>,
    /// What the caches are for that share answers.
    scope: Vec<u8>,
    /// For how long the store keeps entries.
    time: Duration,
    clock: Clock,
    known: Mutex<Known>,
    cleared: Notify,
    is_followed: AtomicBool,
    is_failing: AtomicBool,
    writes: Arc<Semaphore>,
    pub(super) hits: AtomicU64,
}

/// What is known about the generation.
#[derive(Default)]
struct Known {
    /// It, unless the store cannot be asked, or is about to learn that the cache was cleared.
    now: Option<u64>,
    /// The one that the answers in this server belong to.
    last: Option<u64>,
    /// How often the cache was cleared, and how many of these times the store was told about.
    clears: u64,
    told: u64,
}

/// An answer that another server has stored.
pub(super) struct Stored {
    pub(super) reply: Reply,
    /// How old it is, and how long it is of use.
    pub(super) age: Duration,
    pub(super) fresh: Duration,
    pub(super) stale: Duration,
}

impl Level {
    pub(super) fn new(store: Arc<dyn Store>, scope: &str, time: Duration) -> Level {
        Level {
            store,
            scope: scope.as_bytes().to_vec(),
            time,
            clock: Clock::system(),
            known: Mutex::default(),
            cleared: Notify::new(),
            is_followed: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            writes: Arc::new(Semaphore::new(WRITES)),
            hits: AtomicU64::new(0),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The generation, if it is known. Follows it from the first call on.
    pub(super) fn generation(self: &Arc<Level>, state: &Arc<State>) -> Option<u64> {
        if !self.is_followed.load(Ordering::Relaxed)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
            && !self.is_followed.swap(true, Ordering::Relaxed)
        {
            runtime.spawn(follow(Arc::clone(self), Arc::downgrade(state)));
        }
        self.known().now
    }

    /// The cache of this server was cleared, and no other may give answers from before for longer than it takes to hear of that.
    pub(super) fn clear(&self) {
        let mut known = self.known();
        known.now = None;
        known.clears += 1;
        drop(known);
        self.cleared.notify_one();
    }

    /// The answer of this generation to a call.
    pub(super) async fn find(&self, generation: u64, key: &[u8]) -> Option<Stored> {
        let found = tokio::time::timeout(PATIENCE, self.store.read(&self.name(generation, key))).await;
        let found = match found {
            Ok(Ok(found)) => found?,
            Ok(Err(error)) => return self.failed(&error),
            Err(_) => return self.failed(&StoreError::Unavailable("no answer within 250 ms".to_owned())),
        };
        let (reply, Times { began, fresh, stale }) = stored::read(&found)?;
        let now = self.clock.millis();
        let left = |until: u64| Duration::from_millis(until.saturating_sub(now));
        let stored = Stored {
            reply,
            age: Duration::from_millis(now.saturating_sub(began)),
            fresh: left(fresh),
            stale: left(stale).saturating_sub(left(fresh)),
        };
        // One that has to be refreshed anyway is no gain.
        (!stored.fresh.is_zero()).then_some(stored)
    }

    /// Stores an answer of this generation, in the background.
    pub(super) fn keep(
        self: &Arc<Level>,
        generation: u64,
        key: &[u8],
        reply: &Reply,
        age: Duration,
        (ttl, stale): (Duration, Duration),
    ) {
        let times = Times::new(self.clock.millis(), age, ttl, stale);
        let Some(value) = stored::write(reply, times).filter(|value| value.len() <= MAX_VALUE) else {
            return;
        };
        let Ok(permit) = Arc::clone(&self.writes).try_acquire_owned() else { return };
        let (this, name) = (Arc::clone(self), self.name(generation, key));
        let time = (ttl + stale).min(self.time);
        tokio::spawn(async move {
            let _permit = permit;
            match put(&this.store, &name, &value, time).await {
                Ok(()) => {}
                Err(StoreError::Full { .. }) => tracing::debug!("the store has no room for more answers"),
                Err(error) => this.failed(&error),
            }
        });
    }

    /// The name of an answer in the store. It says nothing about the call.
    fn name(&self, generation: u64, key: &[u8]) -> Vec<u8> {
        let mut digest = Context::new(&SHA256);
        digest.update(b"cache\n");
        digest.update(&(self.scope.len() as u64).to_le_bytes());
        digest.update(&self.scope);
        digest.update(&generation.to_le_bytes());
        digest.update(key);
        digest.finish().as_ref().to_vec()
    }

    /// The name of the generation.
    fn own_name(&self) -> Vec<u8> {
        let mut digest = Context::new(&SHA256);
        digest.update(b"generation\n");
        digest.update(&self.scope);
        digest.finish().as_ref().to_vec()
    }

    /// Asks the store for the generation, or tells it another one if the cache was cleared. Returns whether what this server has is from before.
    async fn look(&self) -> bool {
        let (clears, is_told) = {
            let known = self.known();
            (known.clears, known.told == known.clears)
        };
        let generation = match is_told {
            true => self.store.read(&self.own_name()).await.map(generation_of),
            false => self.replace_generation().await,
        };
        let generation = match generation {
            Ok(generation) => generation,
            Err(error) => {
                self.known().now = None;
                self.failed::<()>(&error);
                return false;
            }
        };
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("answers are shared through the store again");
        }
        let mut known = self.known();
        known.told = known.told.max(clears);
        // Cleared meanwhile: the store is told next time.
        if known.told != known.clears {
            return false;
        }
        let is_other = known.last != Some(generation);
        (known.now, known.last) = (Some(generation), Some(generation));
        // What this server cleared itself is gone.
        is_other && is_told
    }

    async fn replace_generation(&self) -> Result<u64, StoreError> {
        let next = fastrand::u64(1..);
        put(&self.store, &self.own_name(), &next.to_le_bytes(), self.time).await.map(|()| next)
    }

    fn failed<T: Default>(&self, error: &StoreError) -> T {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "cannot share answers through the store; each server keeps its own");
        }
        self.known().now = None;
        T::default()
    }
}

/// If there is none, the cache was not cleared for as long as answers are kept.
fn generation_of(found: Option<Bytes>) -> u64 {
    found.and_then(|bytes| Some(u64::from_le_bytes(bytes.as_ref().try_into().ok()?))).unwrap_or(0)
}

/// Follows the generation as long as the cache exists.
async fn follow(level: Arc<Level>, state: Weak<State>) {
    loop {
        let is_before = level.look().await;
        let Some(state) = state.upgrade() else { return };
        if is_before {
            state.forget(|_| true);
        }
        drop(state);
        let _ = tokio::time::timeout(PERIOD, level.cleared.notified()).await;
    }
}
