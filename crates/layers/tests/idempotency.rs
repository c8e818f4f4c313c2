//! Calls with idempotency keys: SEC-R-05.
#![cfg(feature = "idempotency")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Code, Context, ErrorObject, Json, Layer as _, Metadata, Outcome, Reply, ReplyFuture,
    Service, service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::idempotency::{Idempotency, IdempotencyOptions};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreFuture, StoreLimits};
use tokio::sync::Semaphore;

/// A service that counts its calls, and waits for a permit before it answers.
struct Rig {
    service: Arc<dyn Service>,
    calls: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    clock: Clock,
}

fn rig(options: IdempotencyOptions, entries: usize) -> Rig {
    let clock = Clock::manual(1000);
    let limits = StoreLimits::default().with_entries(entries);
    rig_with(options, Arc::new(MemoryStore::with_clock(limits, clock.clone())), clock)
}

fn rig_with(options: IdempotencyOptions, store: Arc<dyn Store>, clock: Clock) -> Rig {
    let (calls, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, waits) = (Arc::clone(&calls), Arc::clone(&gate));
    let inner = service_fn(move |call: &Call| {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        let (method, waits) = (call.method.clone(), Arc::clone(&waits));
        ReplyFuture::pending(async move {
            waits.acquire().await.unwrap().forget();
            match method.as_str() {
                "busy" => ErrorObject::from_code(Code::OVER_LIMIT).into(),
                "unsent" => ErrorObject::from(CallError::Unreachable("no worker".into())).into(),
                "refused" => ErrorObject::from_code(Code::SHUTTING_DOWN).into(),
                "stopped" => ErrorObject::stopped().into(),
                "fail" => ErrorObject::new(-31_000, "failed").into(),
                "large" => Reply::value(Json::encode(&"x".repeat(100)).unwrap()),
                _ => Reply::value(Json::encode(&number).unwrap()),
            }
        })
    });
    let service =
        Idempotency::new(store).with_options(options).with_clock(clock.clone()).layer(Arc::new(inner));
    Rig { service, calls, gate, clock }
}

fn call(who: &str, key: &str, method: &str, params: &'static str) -> Call {
    let mut cx = Context::default().with_metadata(Metadata::from_iter([("Idempotency-Key", key.to_owned())]));
    Identity::new(who, Proof::Token).attach(&mut cx);
    Call::new(method.to_owned(), Some(Json::parse(params).unwrap())).with_context(cx)
}

impl Rig {
    async fn ask(&self, call: Call) -> Value {
        let reply = self.service.call(&call).await;
        match reply.outcome {
            Outcome::Value(json) => json.decode().unwrap(),
            Outcome::Error(error) => json!(error.code.0),
            Outcome::Stream(_) => json!("stream"),
        }
    }

    fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

// SEC-R-05
#[tokio::test]
async fn the_same_key_and_body_get_the_same_answer_once() {
    let rig = rig(IdempotencyOptions::default(), 100);
    rig.gate.add_permits(100);
    let pay = || call("ann", "k1", "pay", "[1]");
    assert_eq!((rig.ask(pay()).await, rig.ask(pay()).await, rig.count()), (json!(1), json!(1), 1));
    // Another body with the same key is an error.
    assert_eq!(rig.ask(call("ann", "k1", "pay", "[2]")).await, json!(-32600));
    assert_eq!(rig.ask(call("ann", "k1", "refund", "[1]")).await, json!(-32600));
    // The key belongs to its caller.
    assert_eq!(rig.ask(call("bob", "k1", "pay", "[1]")).await, json!(2));
    assert_eq!(rig.ask(call("ann", "k2", "pay", "[1]")).await, json!(3));
    // Errors of the method are answers too; refusals are not.
    for _ in 0..2 {
        assert_eq!(rig.ask(call("ann", "k3", "fail", "[]")).await, json!(-31_000));
        assert_eq!(rig.ask(call("ann", "k4", "busy", "[]")).await, json!(-32005));
    }
    assert_eq!(rig.count(), 6);
    rig.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(rig.ask(pay()).await, json!(7));
}

#[tokio::test]
async fn a_call_that_did_not_run_does_not_use_up_its_key_and_one_that_was_stopped_does() {
    let rig = rig(IdempotencyOptions::default(), 100);
    rig.gate.add_permits(100);
    for _ in 0..2 {
        assert_eq!(rig.ask(call("ann", "k1", "unsent", "[]")).await, json!(-32004));
        assert_eq!(rig.ask(call("ann", "k2", "refused", "[]")).await, json!(-32006));
        assert_eq!(rig.ask(call("ann", "k3", "stopped", "[]")).await, json!(-32006));
    }
    assert_eq!(rig.count(), 5);
}

/// A store that fails while it is told to.
struct Flaky(MemoryStore, AtomicBool);

impl Flaky {
    fn or<T: Send + 'static>(&self, done: impl FnOnce(&MemoryStore) -> StoreFuture<T>) -> StoreFuture<T> {
        match self.1.load(Ordering::SeqCst) {
            true => StoreFuture::ready(Err(StoreError::Unavailable("gone".to_owned()))),
            false => done(&self.0),
        }
    }
}

impl Store for Flaky {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        self.or(|store| store.insert(key, value, time))
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        self.or(|store| store.read(key))
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        self.or(|store| store.replace(key, expected, value, time))
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        self.or(|store| store.add(key, amount, time))
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        self.or(|store| store.remove(key))
    }

    fn since(&self) -> u64 {
        self.0.since()
    }

    fn capacity(&self) -> Option<usize> {
        self.0.capacity()
    }
}

/// Two servers with one store, which can fail.
fn two() -> (Rig, Rig, Arc<Flaky>) {
    let clock = Clock::manual(1000);
    let memory = MemoryStore::with_clock(StoreLimits::default(), clock.clone());
    let store = Arc::new(Flaky(memory, AtomicBool::new(false)));
    let rig = || rig_with(IdempotencyOptions::default(), store.clone(), clock.clone());
    (rig(), rig(), store.clone())
}

#[tokio::test]
async fn a_call_whose_server_died_does_not_run_again() {
    let (dead, other, _) = two();
    // It never answers.
    drop(dead.service.call(&call("ann", "k", "pay", "[1]")));
    while dead.count() == 0 {
        tokio::task::yield_now().await;
    }
    other.gate.add_permits(100);
    assert_eq!(other.ask(call("ann", "k", "pay", "[1]")).await, json!(-32005), "it may still run");
    other.clock.advance(IdempotencyOptions::default().call_time + Duration::from_secs(6));
    assert_eq!(other.ask(call("ann", "k", "pay", "[1]")).await, json!(-32600), "nobody knows its answer");
    other.clock.advance(Duration::from_secs(3600));
    assert_eq!(other.ask(call("ann", "k", "pay", "[1]")).await, json!(-32600));
    assert_eq!((dead.count(), other.count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_and_a_key_is_free_when_the_store_is_back() {
    let (one, other, store) = two();
    let asked = async {
        let asked = one.service.call(&call("ann", "k1", "pay", "[1]"));
        let unsent = one.service.call(&call("ann", "k2", "unsent", "[1]"));
        while one.count() < 2 {
            tokio::task::yield_now().await;
        }
        store.1.store(true, Ordering::SeqCst);
        one.gate.add_permits(2);
        drop((asked.await, unsent.await));
        assert_eq!(other.ask(call("ann", "k1", "pay", "[1]")).await, json!(-32005), "the store is gone");
        store.1.store(false, Ordering::SeqCst);
        assert_eq!(other.ask(call("ann", "k1", "pay", "[1]")).await, json!(-32005), "it seems to run");
        tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(2)).await;
    };
    asked.await;
    other.gate.add_permits(2);
    assert_ne!(other.ask(call("ann", "k1", "pay", "[1]")).await, json!(-32005));
    assert_eq!(other.count(), 0, "the answer was kept");
    assert_eq!(other.ask(call("ann", "k2", "unsent", "[1]")).await, json!(-32004));
    assert_eq!(other.count(), 1, "the key was free");
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_which_is_still_running() {
    let rig = rig(IdempotencyOptions::default(), 100);
    let (first, second) = (rig.service.call(&call("ann", "k", "pay", "[1]")), call("ann", "k", "pay", "[1]"));
    let (second, other) = (rig.service.call(&second), rig.service.call(&call("ann", "k", "pay", "[2]")));
    rig.gate.add_permits(1);
    let replies = join_all([first, second, other]).await;
    let found: Vec<_> = replies
        .iter()
        .map(|reply| match &reply.outcome {
            Outcome::Value(json) => json.to_string(),
            Outcome::Error(error) => error.code.0.to_string(),
            Outcome::Stream(_) => String::new(),
        })
        .collect();
    assert_eq!((found, rig.count()), (vec!["1".to_owned(), "1".to_owned(), "-32600".to_owned()], 1));
}

#[tokio::test]
async fn a_call_goes_on_when_its_caller_is_gone_and_the_retry_gets_its_answer() {
    let rig = rig(IdempotencyOptions::default(), 100);
    drop(rig.service.call(&call("ann", "k", "pay", "[1]")));
    rig.gate.add_permits(1);
    assert_eq!((rig.ask(call("ann", "k", "pay", "[1]")).await, rig.count()), (json!(1), 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_answered_and_not_repeated() {
    let rig = rig(IdempotencyOptions::default(), 100);
    for _ in 0..2 {
        assert_eq!(rig.ask(call("ann", "k", "pay", "[1]")).await, json!(-32003));
    }
    assert_eq!(rig.count(), 1);
}

#[tokio::test]
async fn answers_and_running_calls_are_bounded() {
    let rig = rig(IdempotencyOptions::default().with_largest(50).with_concurrent(1), 2);
    let running = rig.service.call(&call("ann", "k1", "pay", "[1]"));
    assert_eq!(rig.ask(call("ann", "k2", "pay", "[1]")).await, json!(-32005));
    rig.gate.add_permits(100);
    assert!(matches!(running.await.outcome, Outcome::Value(_)));
    // An answer that is too large to keep is not repeated, and the call does not run again.
    assert_eq!(rig.ask(call("ann", "k2", "large", "[]")).await, json!("x".repeat(100)));
    assert_eq!(rig.ask(call("ann", "k2", "large", "[]")).await, json!(-32600));
    // The store is full.
    assert_eq!(rig.ask(call("ann", "k3", "pay", "[1]")).await, json!(-32005));
    assert_eq!(rig.count(), 2);
}

#[tokio::test]
async fn calls_without_a_key_pass_and_invalid_keys_are_refused() {
    let rig = rig(IdempotencyOptions::default(), 100);
    rig.gate.add_permits(100);
    assert_eq!(rig.ask(Call::new("pay", None)).await, json!(1));
    assert_eq!(rig.ask(Call::new("pay", None)).await, json!(2));
    assert_eq!(rig.ask(call("ann", "two words", "pay", "[1]")).await, json!(-32600));
}
