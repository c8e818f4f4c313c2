//! Workers that stop, and that lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use switchboard_core::{Code, ErrorObject, Limits, Method, Settings};
use switchboard_transport::server::ServerOptions;

use super::{Broker, Worker, connect, router, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_come_and_go_under_load_and_no_call_is_lost() {
    let broker = Broker::start(&[]);
    let ran = Arc::new(AtomicU64::new(0));
    let start = async || {
        let ran = Arc::clone(&ran);
        let router = router().method("work", move |(number,): (u64,), _| {
            ran.fetch_add(1, SeqCst);
            Ok::<_, ErrorObject>(number)
        });
        Worker::start(&broker, router.build().unwrap()).await
    };
    let first = start().await;
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            let url = super::url(&broker);
            tokio::spawn(async move {
                let peer = switchboard_transport::connect(&url).await.unwrap();
                let mut answered = 0;
                while !is_over.load(SeqCst) {
                    let calls = (0..16_u64).map(|number| {
                        let call = peer.call::<u64>("work", [number]).into_future();
                        async move { (number, call.await) }
                    });
                    for (number, reply) in join_all(calls).await {
                        assert_eq!(reply.unwrap(), number, "it comes back to its caller");
                        answered += 1;
                    }
                }
                answered
            })
        })
        .collect();
    for _ in 0..10 {
        let worker = start().await;
        let called = ran.load(SeqCst);
        while ran.load(SeqCst) < called + 500 {
            tokio::task::yield_now().await;
        }
        worker.stop().await;
    }
    is_over.store(true, SeqCst);
    let answered: u64 = within(join_all(callers)).await.into_iter().map(Result::unwrap).sum();
    assert_eq!(answered, ran.load(SeqCst), "each call ran once");
    first.stop().await;
}

#[tokio::test]
async fn a_worker_that_stops_finishes_its_calls() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let slow = tokio::spawn(peer.call::<u64>("slow", [700]).into_future());
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    worker.stop().await;
    assert_eq!(within(slow).await.unwrap().unwrap(), 700);
    assert!(within(peer.call::<i64>("math/add", [1, 2])).await.unwrap_err().is_unsent());
}

#[tokio::test]
async fn a_worker_that_stops_ends_its_streams_and_in_the_end_its_calls() {
    let broker = Broker::start(&[]);
    let endless = Method::stream("endless", |(): (), _| stream::iter([1]).chain(stream::pending::<u64>()));
    let never = router().add(endless).async_method("never", |(): (), _| async {
        std::future::pending::<()>().await;
        Ok::<_, ErrorObject>(())
    });
    let limits = Limits::default().with_drain_time(Duration::from_millis(300));
    let settings = Settings::default().with_limits(limits);
    let worker =
        Worker::start_with(&broker, never.build().unwrap(), settings, ServerOptions::default()).await;
    let peer = connect(&broker).await;
    let mut items = within(peer.stream::<u64>("endless", ())).await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 1);
    let never = tokio::spawn(peer.call::<()>("never", ()).into_future());
    // It is accepted when a call that was sent later and takes longer is answered.
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    worker.stop().await;
    let ended = within(items.next()).await.unwrap().unwrap_err();
    assert_eq!(ended.rejection().map(|error| error.code), Some(Code::SHUTTING_DOWN), "{ended:?}");
    let ended = within(never).await.unwrap().unwrap_err();
    assert_eq!(ended.rejection().map(|error| error.code), Some(Code::SHUTTING_DOWN), "{ended:?}");
    assert!(!ended.rejection().unwrap().is_refused_at_shutdown(), "it may have run: {ended:?}");
}
