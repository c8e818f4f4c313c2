//! A small shared memory for layers: nonces, stored answers, counters.
//!
//! A [`Store`] keeps bytes under keys until they expire. [`MemoryStore`] is the default and forgets everything when the process ends. [`FileStore`]
//! (feature `store-file`) survives crashes. [`JetStreamStore`] (feature `store-jetstream`) is shared by many machines.
//!
//! Every operation that decides something is atomic: of many callers that insert the same key at once, one succeeds. No decision
//! is based on a read. An operation that may or may not have happened returns an error, and its caller must not proceed.

#[cfg(feature = "store-file")]
mod file;
mod future;
#[cfg(feature = "store-jetstream")]
pub(crate) mod jetstream;
mod memory;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

#[cfg(feature = "store-file")]
#[cfg_attr(docsrs, doc(cfg(feature = "store-file")))]
pub use self::file::FileStore;
pub use self::future::StoreFuture;
#[cfg(feature = "store-jetstream")]
#[cfg_attr(docsrs, doc(cfg(feature = "store-jetstream")))]
pub use self::jetstream::{JetStream, JetStreamAuth, JetStreamOptions, JetStreamStore, JetStreamWatch};
pub use self::memory::MemoryStore;

/// The longest key, in bytes.
pub const MAX_KEY: usize = 256;

/// The longest value, in bytes.
pub const MAX_VALUE: usize = 512 * 1024;

/// How often a value is put again if others do the same at the same time.
const ATTEMPTS: usize = 5;

/// Keeps values under keys until they expire.
///
/// An entry whose time is over does not exist, whether or not it still takes up memory. Entries whose time is not over are never dropped to make
/// room: a full store refuses new entries.
///
/// The futures may be dropped at any time; the operation then happens or does not.
pub trait Store: Send + Sync + 'static {
    /// Stores a value for this long, if there is none under this key. Returns whether it did.
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool>;

    /// The value under this key. It may be out of date when it arrives, so nothing should be decided by it.
    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>>;

    /// Replaces the value under this key if it is `expected`, and keeps the new one for this long from now. Returns whether it did.
    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool>;

    /// Adds to a counter and returns its new value. The first addition creates the counter for this long; later ones do not prolong it.
    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64>;

    /// Removes the value under this key, if there is one.
    fn remove(&self, key: &[u8]) -> StoreFuture<()>;

    /// Since when the store has forgotten nothing, in milliseconds since 1970: when the process started, or when the file or the bucket was
    /// created.
    fn since(&self) -> u64;

    /// How many entries the store can hold, if there is a fixed number.
    fn capacity(&self) -> Option<usize>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        (**self).insert(key, value, time)
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        (**self).read(key)
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        (**self).replace(key, expected, value, time)
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        (**self).add(key, amount, time)
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        (**self).remove(key)
    }

    fn since(&self) -> u64 {
        (**self).since()
    }

    fn capacity(&self) -> Option<usize> {
        (**self).capacity()
    }
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreLimits {
    /// The number of entries. Default: 1,000,000.
    pub entries: usize,
    /// The size of all keys and values, in bytes. Default: 64 MiB.
    pub bytes: usize,
}

impl StoreLimits {
    /// Sets the number of entries.
    #[must_use]
    pub fn with_entries(self, entries: usize) -> StoreLimits {
        StoreLimits { entries, ..self }
    }

    /// Sets the size of all keys and values.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> StoreLimits {
        StoreLimits { bytes, ..self }
    }
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits { entries: 1_000_000, bytes: 64 * 1024 * 1024 }
    }
}

/// Why an operation failed. Whatever was to be decided by it is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room, and nothing that has not expired is dropped.
    #[error("the store is full for another {} s", wait.as_secs())]
    Full {
        /// The time until the next entry expires.
        wait: Duration,
    },
    /// The key or the value is longer than stores accept.
    #[error("a {what} of {size} bytes exceeds the limit of {limit} bytes")]
    TooLong {
        /// Key or value.
        what: &'static str,
        /// How long it is.
        size: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The store would forget the entry earlier.
    #[error("an entry for {} s exceeds the limit of {} s", time.as_secs(), limit.as_secs())]
    TooLongTime {
        /// How long it was to be kept.
        time: Duration,
        /// How long the store keeps entries.
        limit: Duration,
    },
    /// The value under the key of a counter is something else.
    #[error("the entry is not a counter")]
    NotACounter,
    /// The store cannot be reached, or did not say whether the operation happened.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

/// Stores a value under this key, whatever was there, for this long.
///
/// # Errors
///
/// If the store fails, or if others write the same key again and again.
pub async fn put(store: &dyn Store, key: &[u8], value: &[u8], time: Duration) -> Result<(), StoreError> {
    for _ in 0..ATTEMPTS {
        let is_written = match store.read(key).await? {
            Some(before) => store.replace(key, &before, value, time).await?,
            None => store.insert(key, value, time).await?,
        };
        if is_written {
            return Ok(());
        }
    }
    Err(StoreError::Unavailable("too many write the same key".to_owned()))
}

/// Refuses keys and values that are too long.
pub(crate) fn check_sizes(key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let check = |what, size: usize, limit| {
        if size > limit { Err(StoreError::TooLong { what, size, limit }) } else { Ok(()) }
    };
    check("key", key.len(), MAX_KEY)?;
    check("value", value.len(), MAX_VALUE)
}

/// The count that a counter's value stands for.
pub(crate) fn count_of(value: &[u8]) -> Result<u64, StoreError> {
    value.try_into().map(u64::from_le_bytes).map_err(|_| StoreError::NotACounter)
}
