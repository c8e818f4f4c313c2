//! What a server promises when it is told to stop while calls pour in.
//!
//! A call that began to run is answered, and its caller gets the answer. A call that is not answered did not run: its
//! caller learns that the server is going (-32006) or that the connection has closed.
#![cfg(all(feature = "tcp", feature = "ws"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use futures_util::future::join_all;
use support::within;
use switchboard_core::{CallError, Code, ErrorObject, Peer, Router};
use switchboard_transport::connect;
use switchboard_transport::server::Server;
use tokio::sync::Semaphore;

/// Clients of each carrier.
const CLIENTS: usize = 8;
/// Calls that each has under way at once.
const DEPTH: usize = 8;
/// Rounds after which a client is in full swing.
const ROUNDS: usize = 20;

/// Calls until it is not answered any more; gives how many answers came.
async fn pour(peer: Peer, swinging: Arc<Semaphore>) -> u64 {
    let mut answered = 0;
    for round in 0.. {
        if round == ROUNDS {
            swinging.add_permits(1);
        }
        let calls = (0..DEPTH).map(|_| peer.call::<u64>("count", ()).into_future());
        let mut is_over = false;
        for outcome in join_all(calls).await {
            match outcome {
                Ok(_) => answered += 1,
                Err(CallError::Closed(_) | CallError::Unreachable(_)) => is_over = true,
                Err(CallError::Rejected(error)) if error.code == Code::SHUTTING_DOWN => is_over = true,
                Err(other) => panic!("{other:?}"),
            }
        }
        if is_over {
            break;
        }
    }
    answered
}

// JK-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_ran_is_answered_and_no_other_is() {
    for scheme in ["http", "tcp", "ws"] {
        let ran = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&ran);
        let count = move |(): (), _| Ok::<_, ErrorObject>(counter.fetch_add(1, SeqCst));
        let mut server = Server::new(Router::builder().method("count", count).build().unwrap());
        server.listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap();
        let (url, handle) = (server.urls().next().unwrap(), server.handle());
        let serving = tokio::spawn(server.serve());
        let swinging = Arc::new(Semaphore::new(0));
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let peer = connect(&url).await.unwrap();
            clients.push(tokio::spawn(pour(peer, Arc::clone(&swinging))));
        }
        drop(within(swinging.acquire_many(CLIENTS as u32)).await.unwrap());
        handle.shutdown();
        within(serving).await.unwrap();
        let mut answered = 0;
        for client in clients {
            answered += within(client).await.unwrap();
        }
        assert_eq!(answered, ran.load(SeqCst), "{scheme}");
    }
}
