//! Connections from their first byte to their last: keep-alive, pipelining, limits, the end.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use support::{ADD, Raw, SUM, post, router, serve, serve_with, within};
use switchboard_core::{ErrorObject, Limits, Router, Settings};
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::ServerOptions;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    for _ in 0..3 {
        raw.send(post(server.address, "", ADD)).await;
        assert_eq!(raw.response().await.unwrap().body, SUM);
    }
    raw.send(post(server.address, "connection: close\r\n", ADD)).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    assert!(raw.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    let call = |id: usize| format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{id}"],"id":{id}}}"#);
    let requests: String = (0..100).map(|id| post(server.address, "", &call(id))).collect();
    raw.send(requests).await;
    for id in 0..100 {
        let body = raw.response().await.unwrap().body;
        assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","result":"{id}","id":{id}}}"#));
    }
    server.stop().await;
}

#[tokio::test]
async fn bytes_of_an_unfinished_request_do_not_hold_an_answer_back() {
    let server = serve().await;
    for after in ["\r\n", "\n", "POST / HTTP/1.1\r\nhost: loc"] {
        let mut raw = Raw::open(server.address).await;
        raw.send(format!("{}{after}", post(server.address, "", ADD))).await;
        assert_eq!(raw.response().await.unwrap().body, SUM, "{after:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let server = serve().await;
    let text = "x".repeat(3 << 20);
    let mut raw = Raw::open(server.address).await;
    let call = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{text}"],"id":1}}"#);
    for _ in 0..2 {
        raw.send(post(server.address, "", &call)).await;
        let body = raw.response().await.unwrap().body;
        assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","result":"{text}","id":1}}"#));
    }
    server.stop().await;
}

// SEC-L-11
#[tokio::test]
async fn a_connection_too_many_is_503_and_the_next_one_finds_the_free_place() {
    let options = ServerOptions::default().with_connections(1);
    let server = serve_with(Endpoint::new(router()), options).await;
    let mut first = Raw::open(server.address).await;
    first.send(post(server.address, "", ADD)).await;
    assert_eq!(first.response().await.unwrap().body, SUM);

    let mut second = Raw::open(server.address).await;
    second.send(post(server.address, "", ADD)).await;
    let received = second.response().await.unwrap();
    assert_eq!((received.status, received.header("connection")), (503, Some("close")));
    assert!(received.body.contains("-32005"), "{}", received.body);
    assert!(second.is_closed().await);

    first.send(post(server.address, "connection: close\r\n", ADD)).await;
    assert_eq!(first.response().await.unwrap().body, SUM);
    assert!(first.is_closed().await);
    let status = async || support::ask(server.address, post(server.address, "", ADD)).await.status;
    within(async { while status().await != 200 {} }).await;
    server.stop().await;
}

/// A method that says when it has begun, and goes on when it is told; and when it was dropped.
struct Held {
    begun: mpsc::UnboundedReceiver<()>,
    go_on: Arc<Notify>,
    dropped: mpsc::UnboundedReceiver<()>,
}

fn held() -> (Router, Held) {
    let (began, begun) = mpsc::unbounded_channel();
    let (drops, dropped) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let router = Router::builder().async_method("hold", move |(): (), _| {
        let (began, wait, drops) = (began.clone(), Arc::clone(&wait), OnDrop(drops.clone()));
        async move {
            began.send(()).unwrap();
            wait.notified().await;
            drop(drops);
            Ok::<_, ErrorObject>("done")
        }
    });
    (router.build().unwrap(), Held { begun, go_on, dropped })
}

struct OnDrop(mpsc::UnboundedSender<()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

const HOLD: &str = r#"{"jsonrpc":"2.0","method":"hold","id":1}"#;

// JK-08
#[tokio::test]
async fn a_shutdown_lets_accepted_calls_finish_and_takes_no_others() {
    let (router, mut held) = held();
    let server = serve_with(Endpoint::new(router), ServerOptions::default()).await;
    let address = server.address;
    let mut idle = Raw::open(address).await;
    idle.send(post(address, "", r#"{"jsonrpc":"2.0","method":"no","id":1}"#)).await;
    assert_eq!(idle.response().await.unwrap().status, 200);
    let mut partial = Raw::open(address).await;
    partial.send("POST / HTTP/1.1\r\nhost: ").await;
    let mut busy = Raw::open(address).await;
    // The second request is pipelined behind the first: it was not accepted yet.
    busy.send(format!("{}{}", post(address, "", HOLD), post(address, "", HOLD))).await;
    within(held.begun.recv()).await.unwrap();

    server.handle.shutdown();
    assert!(idle.is_closed().await, "an idle connection closes");
    assert!(partial.is_closed().await, "a request that is not there yet was not accepted");
    within(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    assert!(!server.task.is_finished());

    held.go_on.notify_one();
    let received = busy.response().await.unwrap();
    assert!(received.body.contains("done"), "{}", received.body);
    assert_eq!(received.header("connection"), Some("close"));
    assert!(busy.is_closed().await, "what was not accepted is not answered");
    within(server.task).await.unwrap();
    assert!(held.begun.try_recv().is_err());
}

#[tokio::test]
async fn a_shutdown_cancels_calls_that_take_longer_than_the_drain_time() {
    let (router, mut held) = held();
    let limits = Limits::default().with_drain_time(Duration::from_millis(100));
    let endpoint = Endpoint::new(router).with_settings(Settings::default().with_limits(limits));
    let server = serve_with(endpoint, ServerOptions::default()).await;
    let mut busy = Raw::open(server.address).await;
    busy.send(post(server.address, "", HOLD)).await;
    within(held.begun.recv()).await.unwrap();
    server.handle.shutdown();
    within(server.task).await.unwrap();
    within(held.dropped.recv()).await.unwrap();
    assert!(busy.is_closed().await);
}

#[tokio::test]
async fn a_call_is_cancelled_when_its_caller_hangs_up() {
    let (router, mut held) = held();
    let server = serve_with(Endpoint::new(router), ServerOptions::default()).await;
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", HOLD)).await;
    within(held.begun.recv()).await.unwrap();
    drop(raw);
    within(held.dropped.recv()).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn dropping_the_server_ends_its_connections() {
    let (router, mut held) = held();
    let server = serve_with(Endpoint::new(router), ServerOptions::default()).await;
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", HOLD)).await;
    within(held.begun.recv()).await.unwrap();
    server.task.abort();
    within(held.dropped.recv()).await.unwrap();
    assert!(raw.is_closed().await);
}

#[tokio::test]
async fn a_connection_with_a_call_under_way_is_not_idle() {
    let (router, mut held) = held();
    let soon = Duration::from_millis(50);
    let options = ServerOptions::default().with_idle_time(soon).with_header_time(soon);
    let server = serve_with(Endpoint::new(router), options).await;
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", HOLD)).await;
    within(held.begun.recv()).await.unwrap();
    // An idle connection that was opened later is closed, and this one is not.
    let mut other = Raw::open(server.address).await;
    other.send(post(server.address, "", r#"{"jsonrpc":"2.0","method":"no","id":1}"#)).await;
    assert_eq!(other.response().await.unwrap().status, 200);
    assert!(other.is_closed().await);
    held.go_on.notify_one();
    assert!(raw.response().await.unwrap().body.contains("done"));
    server.stop().await;
}
