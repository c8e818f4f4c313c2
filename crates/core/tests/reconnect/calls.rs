//! Calls, notifications and batches over connections that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_core::reconnect::{Backoff, ReconnectOptions};
use switchboard_core::{
    Call, CallError, Code, Context, ErrorObject, Json, Method, Router, RouterBuilder, Service,
};
use tokio::sync::{Semaphore, mpsc};

use crate::rig::{Server, at_once, nobody_listens};

/// A method that says when it runs, and answers how often it ran when it is let.
fn counting() -> (RouterBuilder, Arc<Semaphore>, Arc<Semaphore>, Arc<AtomicUsize>) {
    let (started, open, runs) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)), Arc::default());
    let (tell, wait, count) = (Arc::clone(&started), Arc::clone(&open), Arc::clone(&runs));
    let method = Method::future("count", move |_: Json, _: Context| {
        let run = AtomicUsize::fetch_add(&count, 1, Ordering::SeqCst) + 1;
        tell.add_permits(1);
        let wait = Arc::clone(&wait);
        async move {
            wait.acquire().await.unwrap().forget();
            Ok::<_, ErrorObject>(run)
        }
    });
    (Router::builder().add(method), started, open, runs)
}

#[tokio::test]
async fn a_call_under_way_fails_with_a_typed_error_and_the_next_one_works() {
    let (router, started, open, runs) = counting();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let call = tokio::spawn(peer.call::<usize>("count", ()).into_future());
    started.acquire().await.unwrap().forget();
    server.cut();
    match call.await.unwrap() {
        Err(CallError::Closed(why)) => assert!(why.contains("may or may not have run"), "{why}"),
        other => panic!("{other:?}"),
    }
    open.add_permits(1);
    assert_eq!(peer.call("count", ()).await, Ok(2));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_repeatable_call_under_way_is_sent_again_and_answered_once() {
    let (router, started, open, runs) = counting();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let call = tokio::spawn(peer.call::<usize>("count", ()).repeatable().into_future());
    for _ in 0..3 {
        started.acquire().await.unwrap().forget();
        server.cut();
    }
    started.acquire().await.unwrap().forget();
    open.add_permits(1);
    assert_eq!(call.await.unwrap(), Ok(4));
    assert_eq!((runs.load(Ordering::SeqCst), server.dialled()), (4, 4));
}

#[tokio::test]
async fn only_the_repeatable_calls_of_a_batch_are_sent_again() {
    let (router, started, open, runs) = counting();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let batch = peer.batch().call("count", [1]).repeatable().call("count", [2]).notify("count", [3]);
    let batch = tokio::spawn(batch.send());
    started.acquire_many(3).await.unwrap().forget();
    server.cut();
    started.acquire().await.unwrap().forget();
    open.add_permits(1);
    let outcomes = batch.await.unwrap().unwrap();
    assert_eq!(outcomes[0].as_ref().unwrap().to_string(), "4");
    assert!(matches!(outcomes[1], Err(CallError::Closed(_))), "{outcomes:?}");
    assert_eq!((outcomes.len(), runs.load(Ordering::SeqCst)), (2, 4));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_leaving_server_gives_up_is_sent_again_only_if_it_is_repeatable() {
    // The server answers both with -32006 when its time to drain is over.
    let (router, started, open, runs) = counting();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let plain = tokio::spawn(peer.call::<usize>("count", ()).into_future());
    let marked = tokio::spawn(peer.call::<usize>("count", ()).repeatable().into_future());
    started.acquire_many(2).await.unwrap().forget();
    server.drain();
    let refused = plain.await.unwrap().unwrap_err();
    assert_eq!(refused.rejection().unwrap().code, Code::SHUTTING_DOWN);
    started.acquire().await.unwrap().forget();
    open.add_permits(1);
    assert_eq!(marked.await.unwrap(), Ok(3));
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_connection_is_sent_in_order() {
    let (heard, mut hears) = mpsc::unbounded_channel();
    let (server, _) = Server::new(Router::builder().add(Method::sync("hear", move |(n,): (u32,), _| {
        heard.send(n).unwrap();
        Ok::<_, ErrorObject>(n)
    })));
    server.refuse(nobody_listens());
    let client = server.client(at_once());
    let params = |n: u32| Some(Json::encode(&[n]).unwrap());
    let calls: Vec<_> = (0..50)
        .map(|n| match n % 2 {
            0 => client.call(&Call::new("hear", params(n))),
            _ => client.call(&Call::notification("hear", params(n))),
        })
        .collect();
    server.refuse(None);
    futures_util::future::join_all(calls).await;
    for n in 0..50 {
        assert_eq!(hears.recv().await, Some(n));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_connection_in_time_was_not_sent() {
    let (server, _) = Server::new(Router::builder());
    server.refuse(nobody_listens());
    let patient = server.client(at_once()).peer();
    let error = patient.call::<Json>("x", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::Unreachable(why) if why.contains("nobody listens")), "{error}");
    let short = patient.call::<Json>("x", ()).timeout(Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(&short, CallError::Unreachable(why) if why.contains("nobody listens")), "{short}");
    let hasty = server.client(at_once().with_connect_wait(Duration::ZERO)).peer();
    let start = tokio::time::Instant::now();
    assert!(matches!(hasty.call::<Json>("x", ()).await, Err(CallError::Unreachable(_))));
    assert!(matches!(hasty.notify("x", ()).await, Err(CallError::Unreachable(_))));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_is_before_the_next_attempt_fails_without_waiting() {
    let (server, mut dials) = Server::new(Router::builder());
    server.refuse(nobody_listens());
    let ten = Duration::from_secs(10);
    let backoff = Backoff::default().with_first(ten).with_longest(ten).with_jitter(0.0);
    let client = server.client(ReconnectOptions::default().with_backoff(backoff));
    let start = tokio::time::Instant::now();
    let early =
        tokio::spawn(client.peer().call::<Json>("x", ()).timeout(Duration::from_secs(1)).into_future());
    dials.recv().await.unwrap();
    let late = client.peer().call::<Json>("x", ()).timeout(Duration::from_secs(9));
    for error in [early.await.unwrap(), late.await] {
        assert_eq!(error, Err(nobody_listens().unwrap()));
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn only_so_many_calls_wait_and_one_that_is_dropped_makes_room() {
    let (server, _) = Server::new(Router::builder());
    server.refuse(nobody_listens());
    let client = server.client(at_once().with_waiting(2));
    let mut calls: Vec<_> = (0..2).map(|_| client.call(&Call::new("x", None))).collect();
    let full = client.peer().call::<Json>("x", ()).await.unwrap_err();
    assert!(matches!(full, CallError::Busy(_)), "{full}");
    assert!(format!("{client:?}").contains("waiting: 2"), "{client:?}");
    calls.pop();
    assert!(client.call(&Call::new("x", None)).into_ready().is_err());
}
