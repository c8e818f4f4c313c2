//! Workers that stop, and that lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use futures_util::future::join_all;
use switchboard_core::ErrorObject;

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
