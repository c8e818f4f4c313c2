//! A store in memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, hash_map};
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::{Store, StoreError, StoreFuture, StoreLimits, check_sizes, count_of};
use crate::clock::{Clock, millis_of};
use crate::hashing::{SecretHashing, secret_hashing};

/// More shards than threads that usually contend; a power of two.
const SHARDS: usize = 16;

/// A store in the memory of this process. An entry with a key of 16 bytes takes about 150 bytes.
///
/// Expired entries are dropped by later operations; there is no background task.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_layers::store::{MemoryStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::default();
/// let minute = Duration::from_secs(60);
/// assert!(store.insert(b"nonce", b"", minute).await?);
/// assert!(!store.insert(b"nonce", b"", minute).await?);
/// assert_eq!(store.add(b"calls", 2, minute).await?, 2);
/// # Ok(())
/// # }
/// ```
pub struct MemoryStore {
    shards: Box<[Mutex<Shard>]>,
    hashing: SecretHashing,
    clock: Clock,
    since: u64,
    limits: StoreLimits,
    entries: AtomicUsize,
    bytes: AtomicUsize,
}

struct Shard {
    entries: HashMap<Arc<[u8]>, Entry, SecretHashing>,
    /// When entries expire, earliest first. It may name entries that were removed or prolonged.
    expiries: BinaryHeap<Reverse<(u64, Arc<[u8]>)>>,
}

struct Entry {
    value: Box<[u8]>,
    expires: u64,
}

impl MemoryStore {
    /// A store with these limits.
    #[must_use]
    pub fn new(limits: StoreLimits) -> MemoryStore {
        MemoryStore::with_clock(limits, Clock::system())
    }

    /// A store with these limits that tells the time by this clock.
    #[must_use]
    pub fn with_clock(limits: StoreLimits, clock: Clock) -> MemoryStore {
        MemoryStore {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hashing: secret_hashing(),
            since: clock.millis(),
            clock,
            limits,
            entries: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// How many entries take up memory, expired ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shard of a key, without its expired entries.
    fn shard(&self, key: &[u8], now: u64) -> MutexGuard<'_, Shard> {
        let index = usize::try_from(self.hashing.hash_one(key) % SHARDS as u64).unwrap_or(0);
        let mut shard = self.shards[index].lock().unwrap_or_else(PoisonError::into_inner);
        self.purge(&mut shard, now);
        shard
    }

    fn purge(&self, shard: &mut Shard, now: u64) {
        let (entries, bytes) = shard.purge(now);
        if entries > 0 {
            self.entries.fetch_sub(entries, Ordering::Relaxed);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Takes room for an entry, or for a value that grows.
    fn take(&self, entries: usize, bytes: usize) -> bool {
        let is_taken = |count: &AtomicUsize, more: usize, limit: usize| {
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                now.checked_add(more).filter(|sum| *sum <= limit)
            })
        };
        if is_taken(&self.entries, entries, self.limits.entries).is_err() {
            return false;
        }
        if is_taken(&self.bytes, bytes, self.limits.bytes).is_err() {
            self.entries.fetch_sub(entries, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Takes room, if necessary after dropping what has expired in all shards. `None` if there is room now; otherwise the time
    /// until there may be.
    fn full_for(&self, entries: usize, bytes: usize, now: u64) -> Option<Duration> {
        if self.take(entries, bytes) {
            return None;
        }
        let mut earliest = u64::MAX;
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            self.purge(&mut shard, now);
            if let Some(Reverse((expires, _))) = shard.expiries.peek() {
                earliest = earliest.min(*expires);
            }
        }
        if self.take(entries, bytes) {
            return None;
        }
        let wait = if earliest == u64::MAX { 0 } else { earliest.saturating_sub(now) };
        Some(Duration::from_millis(wait))
    }

    /// Stores an entry unless there is one. Returns whether it did. Usually there is none and there is room, so the key is made before
    /// it is looked up.
    fn inserted(&self, key: &[u8], value: &[u8], time: Duration) -> Result<bool, StoreError> {
        check_sizes(key, value)?;
        let now = self.clock.millis();
        let mut shard = self.shard(key, now);
        let is_new = shard.insert_new(Arc::from(key), || {
            let expires = now.saturating_add(millis_of(time));
            self.take(1, key.len() + value.len()).then(|| Entry { value: value.into(), expires })
        });
        drop(shard);
        match is_new {
            Some(is_new) => Ok(is_new),
            None => self.insert_or_read(key, value, time, |_| ()).map(|found| found.is_none()),
        }
    }

    /// Stores an entry unless there is one. Returns the value that is there.
    fn insert_or_read<R>(
        &self,
        key: &[u8],
        value: &[u8],
        time: Duration,
        found: impl Fn(&mut Box<[u8]>) -> R,
    ) -> Result<Option<R>, StoreError> {
        check_sizes(key, value)?;
        let now = self.clock.millis();
        let mut shard = self.shard(key, now);
        if let Some(entry) = shard.entries.get_mut(key) {
            return Ok(Some(found(&mut entry.value)));
        }
        let size = key.len() + value.len();
        if !self.take(1, size) {
            // Making room locks all shards in turn, so none may be locked.
            drop(shard);
            if let Some(wait) = self.full_for(1, size, now) {
                return Err(StoreError::Full { wait });
            }
            shard = self.shard(key, now);
            if let Some(entry) = shard.entries.get_mut(key) {
                self.give_back(1, size);
                return Ok(Some(found(&mut entry.value)));
            }
        }
        let (key, expires) = (Arc::from(key), now.saturating_add(millis_of(time)));
        shard.insert(key, Entry { value: value.into(), expires });
        Ok(None)
    }

    fn give_back(&self, entries: usize, bytes: usize) {
        self.entries.fetch_sub(entries, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn replaced(
        &self,
        key: &[u8],
        expected: &[u8],
        value: &[u8],
        time: Duration,
    ) -> Result<bool, StoreError> {
        check_sizes(key, value)?;
        let now = self.clock.millis();
        let growth = value.len().saturating_sub(expected.len());
        if let Some(wait) = self.full_for(0, growth, now) {
            return Err(StoreError::Full { wait });
        }
        let mut shard = self.shard(key, now);
        let Some(entry) = shard.entries.get_mut(key).filter(|entry| *entry.value == *expected) else {
            self.give_back(0, growth);
            return Ok(false);
        };
        entry.value = value.into();
        entry.expires = now.saturating_add(millis_of(time));
        self.give_back(0, expected.len().saturating_sub(value.len()));
        Ok(true)
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new(StoreLimits::default())
    }
}

impl Store for MemoryStore {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        StoreFuture::ready(self.inserted(key, value, time))
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        let shard = self.shard(key, self.clock.millis());
        let value = shard.entries.get(key).map(|entry| Bytes::copy_from_slice(&entry.value));
        StoreFuture::ready(Ok(value))
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        StoreFuture::ready(self.replaced(key, expected, value, time))
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        let added = self.insert_or_read(key, &amount.to_le_bytes(), time, |value| {
            let count = count_of(value)?.saturating_add(amount);
            value.copy_from_slice(&count.to_le_bytes());
            Ok(count)
        });
        StoreFuture::ready(added.and_then(|found| found.unwrap_or(Ok(amount))))
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        let mut shard = self.shard(key, self.clock.millis());
        if let Some(entry) = shard.entries.remove(key) {
            self.give_back(1, key.len() + entry.value.len());
            shard.compact();
        }
        StoreFuture::ready(Ok(()))
    }

    fn since(&self) -> u64 {
        self.since
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.limits.entries)
    }
}

/// Shows how many entries there are.
impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} entries)", self.len())
    }
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { entries: HashMap::with_hasher(secret_hashing()), expiries: BinaryHeap::new() }
    }
}

impl Shard {
    fn insert(&mut self, key: Arc<[u8]>, entry: Entry) {
        self.expiries.push(Reverse((entry.expires, Arc::clone(&key))));
        self.entries.insert(key, entry);
    }

    /// Inserts an entry under a new key, and returns true; false if the key is there. None if no entry can be made for it.
    fn insert_new(&mut self, key: Arc<[u8]>, make: impl FnOnce() -> Option<Entry>) -> Option<bool> {
        let hash_map::Entry::Vacant(vacant) = self.entries.entry(key) else { return Some(false) };
        let entry = make()?;
        self.expiries.push(Reverse((entry.expires, Arc::clone(vacant.key()))));
        vacant.insert(entry);
        Some(true)
    }

    /// Drops what has expired. Returns how many entries and bytes that was.
    fn purge(&mut self, now: u64) -> (usize, usize) {
        let (mut entries, mut bytes) = (0, 0);
        while let Some(Reverse((at, _))) = self.expiries.peek()
            && *at <= now
        {
            let Some(Reverse((_, key))) = self.expiries.pop() else { break };
            let Some(expires) = self.entries.get(&key).map(|entry| entry.expires) else { continue };
            if expires > now {
                self.expiries.push(Reverse((expires, key)));
            } else if let Some(entry) = self.entries.remove(&key) {
                entries += 1;
                bytes += key.len() + entry.value.len();
            }
        }
        (entries, bytes)
    }

    /// Forgets the expiries of entries that were removed, once they are the majority.
    fn compact(&mut self) {
        if self.expiries.len() > 2 * self.entries.len() + 64 {
            let expiries = self.entries.iter().map(|(key, entry)| Reverse((entry.expires, Arc::clone(key))));
            self.expiries = expiries.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn store(entries: usize, bytes: usize) -> (MemoryStore, Clock) {
        let clock = Clock::manual(1000);
        let limits = StoreLimits::default().with_entries(entries).with_bytes(bytes);
        (MemoryStore::with_clock(limits, clock.clone()), clock)
    }

    #[tokio::test]
    async fn a_full_store_refuses_new_entries_until_old_ones_expire() {
        let (store, clock) = store(2, 1000);
        assert_eq!(store.insert(b"a", b"", MINUTE).await, Ok(true));
        clock.advance(Duration::from_secs(10));
        assert_eq!(store.insert(b"b", b"", MINUTE).await, Ok(true));
        let full = Err(StoreError::Full { wait: Duration::from_secs(50) });
        assert_eq!(store.insert(b"c", b"", MINUTE).await, full);
        assert_eq!(store.insert(b"a", b"", MINUTE).await, Ok(false));
        clock.advance(Duration::from_secs(50));
        assert_eq!(store.insert(b"c", b"", MINUTE).await, Ok(true));
        assert_eq!(store.len(), 2);
    }

    #[tokio::test]
    async fn keys_and_values_are_counted_to_the_byte() {
        let (store, _) = store(100, 10);
        assert_eq!(store.insert(b"key", b"1234567", MINUTE).await, Ok(true));
        assert!(matches!(store.insert(b"k", b"", MINUTE).await, Err(StoreError::Full { .. })));
        assert_eq!(store.replace(b"key", b"1234567", b"12345", MINUTE).await, Ok(true));
        assert!(matches!(
            store.replace(b"key", b"12345", b"12345678", MINUTE).await,
            Err(StoreError::Full { .. })
        ));
        assert_eq!(store.insert(b"k", b"1", MINUTE).await, Ok(true));
        store.remove(b"key").await.unwrap();
        store.remove(b"k").await.unwrap();
        assert_eq!((store.len(), store.bytes.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn what_is_inserted_and_removed_leaves_nothing_behind() {
        let (store, _) = store(10, 1000);
        for number in 0_u32..10_000 {
            store.insert(&number.to_le_bytes(), b"", MINUTE).await.unwrap();
            store.remove(&number.to_le_bytes()).await.unwrap();
        }
        let waiting: usize = store.shards.iter().map(|shard| shard.lock().unwrap().expiries.len()).sum();
        assert!(waiting <= 66 * SHARDS, "{waiting}");
    }

    #[tokio::test]
    async fn keys_and_values_have_a_largest_size() {
        let (store, _) = store(10, 10 << 20);
        assert_eq!(store.insert(&[0; super::super::MAX_KEY], b"", MINUTE).await, Ok(true));
        assert!(matches!(
            store.insert(&[0; super::super::MAX_KEY + 1], b"", MINUTE).await,
            Err(StoreError::TooLong { what: "key", .. })
        ));
        assert_eq!(store.insert(b"v", &vec![0; super::super::MAX_VALUE], MINUTE).await, Ok(true));
        assert!(matches!(
            store.insert(b"w", &vec![0; super::super::MAX_VALUE + 1], MINUTE).await,
            Err(StoreError::TooLong { what: "value", .. })
        ));
    }
}
