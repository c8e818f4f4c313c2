//! Calls with idempotency keys: SEC-R-05.
#![cfg(feature = "idempotency")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use switchboard_core::{
    Call, Code, Context, Json, Layer as _, Metadata, Outcome, Reply, ReplyFuture, Service, service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::idempotency::{Idempotency, IdempotencyOptions};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_layers::store::{MemoryStore, StoreLimits};
use tokio::sync::Semaphore;

/// A service that counts its calls, and waits for a permit before it answers.
struct Rig {
    service: Arc<dyn Service>,
    calls: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    clock: Clock,
}

fn rig(options: IdempotencyOptions, entries: usize) -> Rig {
    let (calls, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, waits) = (Arc::clone(&calls), Arc::clone(&gate));
    let inner = service_fn(move |call: &Call| {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        let (method, waits) = (call.method.clone(), Arc::clone(&waits));
        ReplyFuture::pending(async move {
            waits.acquire().await.unwrap().forget();
            match method.as_str() {
                "busy" => switchboard_core::ErrorObject::from_code(Code::OVER_LIMIT).into(),
                "fail" => switchboard_core::ErrorObject::new(-31_000, "failed").into(),
                "large" => Reply::value(Json::encode(&"x".repeat(100)).unwrap()),
                _ => Reply::value(Json::encode(&number).unwrap()),
            }
        })
    });
    let clock = Clock::manual(1000);
    let limits = StoreLimits::default().with_entries(entries);
    let store = Arc::new(MemoryStore::with_clock(limits, clock.clone()));
    let service = Idempotency::new(store).with_options(options).layer(Arc::new(inner));
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
