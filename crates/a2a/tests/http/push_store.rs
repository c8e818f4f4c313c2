//! Notifications while the store of their places is slow, fails or forgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use switchboard_a2a::AgentOptions;
use switchboard_layers::Clock;
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreFuture, StoreLimits};
use tokio::sync::Notify;

use crate::push::{hook, notified, options, pushing};
use crate::serving::{Gate, agent, message, message_to, serve};

/// A store whose places are read late once, or cannot be read for some time after there are any.
#[derive(Default)]
struct Places {
    inner: MemoryStore,
    /// How many reads fail after places were stored.
    failing: usize,
    fails: AtomicUsize,
    /// Whether the first read waits for `goes` when it has its result.
    is_held: bool,
    reads: AtomicUsize,
    waits: Arc<Notify>,
    goes: Arc<Notify>,
}

fn is_places(key: &[u8]) -> bool {
    key.starts_with(b"a2a/push/")
}

impl Store for Places {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        if is_places(key) {
            self.fails.store(self.failing, Ordering::Relaxed);
        }
        self.inner.insert(key, value, time)
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        let result = self.inner.read(key);
        if !is_places(key) {
            return result;
        }
        let less = |fails: usize| fails.checked_sub(1);
        if self.fails.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return StoreFuture::ready(Err(StoreError::Unavailable("it is away".to_owned())));
        }
        if self.reads.fetch_add(1, Ordering::Relaxed) > 0 || !self.is_held {
            return result;
        }
        let (waits, goes) = (Arc::clone(&self.waits), Arc::clone(&self.goes));
        StoreFuture::pending(async move {
            waits.notify_one();
            goes.notified().await;
            result.await
        })
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        self.inner.replace(key, expected, value, time)
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

// A2A-P-01
#[tokio::test]
async fn events_wait_while_the_store_is_away() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let store = Places { failing: 2, ..Places::default() };
    let serving = serve(&pushing(&Gate::default()).with_store(store).build()).await;
    serving.ask("SendMessage", notified("chunks", json!({"url": url}))).await;
    let first = got.recv().await.unwrap();
    assert!(first.body.get("task").is_some(), "{}", first.body);
    while got.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}

// A2A-P-01
#[tokio::test]
async fn events_after_a_new_place_are_sent_though_its_task_was_read_without_it() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let store = Arc::new(Places { is_held: true, ..Places::default() });
    let serving = serve(&pushing(&Gate::default()).with_store(Arc::clone(&store)).build()).await;
    let task = serving.ask("SendMessage", message("ask")).await["task"].clone();
    store.waits.notified().await;
    serving.ask("CreateTaskPushNotificationConfig", json!({"taskId": task["id"], "url": url})).await;
    serving.ask("SendMessage", message_to(&task, "Paris")).await;
    store.goes.notify_one();
    while got.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}

// A2A-T-07
#[tokio::test]
async fn places_are_kept_as_long_as_their_task() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let clock = Clock::manual(1_800_000_000);
    let store = MemoryStore::with_clock(StoreLimits::default(), clock.clone());
    let keep = AgentOptions::default().with_keep(Duration::from_secs(100));
    let agent = agent(&Gate::default()).with_push(options()).with_options(keep);
    let serving = serve(&agent.with_store(store).with_clock(clock.clone()).build()).await;
    let task = serving.ask("SendMessage", notified("ask", json!({"url": url}))).await["task"].clone();
    for _ in 0..3 {
        clock.advance(Duration::from_secs(60));
        serving.ask("SendMessage", message_to(&task, "ask")).await;
    }
    clock.advance(Duration::from_secs(60));
    serving.ask("SendMessage", message_to(&task, "Paris")).await;
    while got.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}
