//! A store that waits before it makes a change, as one far away may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use switchboard_layers::store::{Store, StoreFuture};
use tokio::sync::Notify;

/// Makes the first change to a value that contains this text when it is let go.
pub(crate) struct Held {
    inner: Arc<dyn Store>,
    text: &'static str,
    has_held: AtomicBool,
    /// Notified when the change is waiting.
    pub(crate) waits: Arc<Notify>,
    pub(crate) goes: Arc<Notify>,
}

impl Held {
    pub(crate) fn new(inner: Arc<dyn Store>, text: &'static str) -> Arc<Held> {
        let (waits, goes) = <(Arc<Notify>, Arc<Notify>)>::default();
        Arc::new(Held { inner, text, has_held: AtomicBool::new(false), waits, goes })
    }

    /// The change, later if it is the one.
    fn hold(
        &self,
        value: &[u8],
        change: impl FnOnce(&dyn Store) -> StoreFuture<bool> + Send + 'static,
    ) -> StoreFuture<bool> {
        let is_it = value.windows(self.text.len()).any(|window| window == self.text.as_bytes());
        if !is_it || self.has_held.swap(true, Ordering::Relaxed) {
            return change(&*self.inner);
        }
        let (inner, waits, goes) = (Arc::clone(&self.inner), Arc::clone(&self.waits), Arc::clone(&self.goes));
        StoreFuture::pending(async move {
            waits.notify_one();
            goes.notified().await;
            change(&*inner).await
        })
    }
}

impl Store for Held {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        let [key, text] = [key, value].map(<[u8]>::to_vec);
        self.hold(value, move |store| store.insert(&key, &text, time))
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        self.inner.read(key)
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        let [key, expected, text] = [key, expected, value].map(<[u8]>::to_vec);
        self.hold(value, move |store| store.replace(&key, &expected, &text, time))
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        self.inner.add(key, amount, time)
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        self.inner.remove(key)
    }

    fn since(&self) -> u64 {
        self.inner.since()
    }

    fn capacity(&self) -> Option<usize> {
        self.inner.capacity()
    }
}
