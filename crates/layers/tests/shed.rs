//! How many calls run and wait, over a connection.
#![cfg(feature = "shed")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{CallError, Code, Context, ErrorObject, Peer, Reply, ReplyFuture, Router, service_fn};
use switchboard_layers::shed::{ShedOptions, Shedding};
use switchboard_transport::memory;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// A server whose calls of `work` wait for a permit.
struct Bench {
    peer: Peer,
    shedding: Shedding,
    permits: Arc<Semaphore>,
    begun: Arc<AtomicUsize>,
}

fn bench(options: ShedOptions) -> Bench {
    let (permits, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (taken, counted) = (Arc::clone(&permits), Arc::clone(&begun));
    let work = move |(): (), _: Context| {
        let (taken, counted) = (Arc::clone(&taken), Arc::clone(&counted));
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            taken.acquire().await.unwrap().forget();
            Ok::<_, ErrorObject>("done")
        }
    };
    let ask = |(): (), cx: Context| async move {
        let answer = cx.peer().call::<Value>("question", ()).await;
        answer.map_err(|error| ErrorObject::upstream_failed(error.to_string()))
    };
    let router = Router::builder()
        .async_method("work", work.clone())
        .async_method("slow/work", work)
        .async_method("ask", ask)
        .method("ping", |(): (), _| Ok::<_, ErrorObject>("pong"))
        .fallback(service_fn(|_| ReplyFuture::ready(Reply::stream(futures_util::stream::pending::<u64>()))))
        .build()
        .unwrap();
    let client = Router::builder().method("question", |(): (), _| Ok::<_, ErrorObject>(42)).build().unwrap();
    let shedding = Shedding::new(options);
    let peer = memory::connect(router.layered(shedding.clone()), client);
    Bench { peer, shedding, permits, begun }
}

impl Bench {
    fn start(&self, method: &'static str) -> JoinHandle<Result<Value, CallError>> {
        let peer = self.peer.clone();
        tokio::spawn(async move { peer.call(method, ()).await })
    }

    /// Lets everything happen that can.
    async fn until(&self, begun: usize, waiting: usize) {
        while (self.begun.load(Ordering::Relaxed), self.shedding.waiting()) != (begun, waiting) {
            tokio::task::yield_now().await;
        }
    }
}

fn is_shed(result: Result<Value, CallError>) -> bool {
    let Err(CallError::Rejected(error)) = result else { return false };
    let data: Value = error.data.as_ref().unwrap().decode().unwrap();
    error.code == Code::OVER_LIMIT && data["limit"] == "load" && data["retryAfterMs"] == 1000
}

fn patient(running: usize) -> ShedOptions {
    ShedOptions::default().with_running(running).with_queue_time(Duration::from_secs(20))
}

#[tokio::test]
async fn calls_wait_in_order_and_too_many_are_shed() {
    let bench = bench(patient(1).with_queue(2));
    let first = bench.start("work");
    bench.until(1, 0).await;
    let second = bench.start("work");
    bench.until(1, 1).await;
    let third = bench.start("ping");
    bench.until(1, 2).await;
    assert!(is_shed(bench.peer.call("ping", ()).await));
    bench.permits.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap(), "done");
    assert_eq!(second.await.unwrap().unwrap(), "done");
    assert_eq!(third.await.unwrap().unwrap(), "pong");
    assert_eq!(bench.shedding.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_too_long_is_shed() {
    let bench = bench(ShedOptions::default().with_running(1));
    let first = bench.start("work");
    bench.until(1, 0).await;
    assert!(is_shed(bench.peer.call("ping", ()).await));
    bench.permits.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap(), "done");
    assert_eq!(bench.peer.call::<Value>("ping", ()).await.unwrap(), "pong");
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_queue_and_cancels_do_not_wait() {
    let bench = bench(patient(1));
    let (first, second) = (bench.start("work"), bench.start("work"));
    bench.until(1, 1).await;
    let third = bench.start("work");
    bench.until(1, 2).await;
    // Dropping a request cancels it, and the message overtakes the calls that wait.
    second.abort();
    bench.until(1, 1).await;
    first.abort();
    bench.until(2, 0).await;
    bench.permits.add_permits(1);
    assert_eq!(third.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn responses_do_not_wait_behind_calls() {
    let bench = bench(patient(1));
    // It holds the only place while it asks its caller, and a call waits in front of the answer.
    let asking = bench.start("ask");
    let waiting = bench.start("ping");
    assert_eq!(asking.await.unwrap().unwrap(), 42);
    assert_eq!(waiting.await.unwrap().unwrap(), "pong");
}

#[tokio::test]
async fn a_slow_method_leaves_room_for_others() {
    let bench = bench(patient(2).with_methods(["slow/**".parse().unwrap()], 1));
    let first = bench.start("slow/work");
    bench.until(1, 0).await;
    let second = bench.start("slow/work");
    bench.until(1, 1).await;
    assert_eq!(bench.peer.call::<Value>("ping", ()).await.unwrap(), "pong");
    bench.permits.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap(), "done");
    assert_eq!(second.await.unwrap().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_stream_counts_until_it_begins_or_until_it_ends() {
    for holds_streams in [false, true] {
        let bench = bench(ShedOptions::default().with_running(1).with_holds_streams(holds_streams));
        let stream = bench.peer.stream::<u64>("ticks", ()).await.unwrap();
        let other = bench.peer.call::<Value>("ping", ()).await;
        assert_eq!(is_shed(other), holds_streams);
        drop(stream);
        assert_eq!(bench.peer.call::<Value>("ping", ()).await.unwrap(), "pong");
    }
}

#[tokio::test(start_paused = true)]
async fn each_entry_of_a_batch_needs_a_place() {
    let bench = bench(ShedOptions::default().with_running(1).with_queue(0));
    let first = bench.start("work");
    bench.until(1, 0).await;
    let mut batch = bench.peer.batch();
    let calls: Vec<_> = (0..3).map(|_| batch.add(bench.peer.call::<Value>("ping", ()))).collect();
    let outcomes = batch.send().await.unwrap();
    assert!(calls.into_iter().all(|call| is_shed(call.read(&outcomes))));
    bench.permits.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap(), json!("done"));
}
