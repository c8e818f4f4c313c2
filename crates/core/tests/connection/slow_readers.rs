//! Peers that send calls and do not take the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{ConnectionError, ErrorObject, Limits, Router, RouterBuilder, Settings};

use crate::rig::{Raw, ends};

const CALL: &str = r#"{"jsonrpc":"2.0","method":"long","id":1}"#;
/// Answers of so many bytes keep a connection from being read.
const MARK: usize = 4096;

fn long(ran: &Arc<AtomicUsize>) -> RouterBuilder {
    let ran = Arc::clone(ran);
    Router::builder().method("long", move |(): (), _| {
        ran.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ErrorObject>("x".repeat(1000))
    })
}

fn settings() -> Settings {
    let limits = Limits::default().with_outbox(16 * MARK).with_send_time(Duration::from_secs(10));
    Settings::default().with_limits(limits)
}

/// Sends calls until the server reads no more; how many.
async fn flood(raw: &mut Raw) -> usize {
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_secs(1), raw.send(CALL)).await.is_ok() {
        sent += 1;
        assert!(sent < 1000, "all is read");
    }
    sent
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_no_answers_is_not_read_and_then_dropped() {
    let ran = Arc::default();
    let (mut raw, server) = Raw::against(long(&ran), settings());
    flood(&mut raw).await;
    assert!(ran.load(Ordering::Relaxed) <= 2 * MARK / 1000, "{ran:?}");
    let end = server.task.await.unwrap();
    assert!(matches!(end, Err(ConnectionError::Stalled { .. })), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_answers_late_gets_all_of_them() {
    let ran = Arc::default();
    let (mut raw, _server) = Raw::against(long(&ran), settings());
    let sent = flood(&mut raw).await;
    for _ in 0..sent {
        assert!(raw.receive().await.unwrap().contains("result"));
    }
    // The call that found no room goes out with this one: it is read again.
    raw.send(CALL).await;
    for _ in 0..2 {
        assert!(raw.receive().await.unwrap().contains("result"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_a_little_all_the_time_stays() {
    let ran = Arc::default();
    let (mut raw, server) = Raw::against(long(&ran), settings());
    flood(&mut raw).await;
    // 20 KB in each 8 seconds, for a minute.
    for _ in 0..7 {
        tokio::time::advance(Duration::from_secs(8)).await;
        for _ in 0..20 {
            // If there is no room for it, it goes out with the next one.
            let _ = tokio::time::timeout(Duration::from_millis(1), raw.send(CALL)).await;
            let _ = tokio::time::timeout(Duration::from_millis(1), raw.receive()).await;
        }
    }
    assert!(!server.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn two_ends_that_call_each_other_with_long_answers_both_get_them() {
    let (ran, other) = (Arc::default(), Arc::default());
    let limits = settings().limits;
    let (one, two) = ends(long(&ran), long(&other), limits);
    let calls = |peer: &switchboard_core::Peer| {
        let calls: Vec<_> = (0..50).map(|_| peer.call::<String>("long", ())).collect();
        join_all(calls.into_iter().map(IntoFuture::into_future))
    };
    let (here, there) = tokio::join!(calls(&one.peer), calls(&two.peer));
    assert!(here.into_iter().chain(there).all(|answer| answer.is_ok_and(|text| text.len() == 1000)));
}
