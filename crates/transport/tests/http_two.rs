//! HTTP/2 on the same port, with prior knowledge.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use support::{ADD, Running, SUM, router, serve, serve_with, within};
use switchboard_core::{ErrorObject, Router};
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::ServerOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

type Sender = SendRequest<Full<Bytes>>;

async fn open(server: &Running) -> (Sender, JoinHandle<()>) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

fn request(authority: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(Method::POST)
        .uri(format!("http://{authority}/rpc"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn calls_share_one_connection() {
    let server = serve().await;
    let (mut sender, _) = open(&server).await;
    let authority = server.address.to_string();
    let calls: Vec<_> = (0..20).map(|_| sender.send_request(request(&authority, ADD))).collect();
    for call in calls {
        let response = within(call).await.unwrap();
        assert_eq!((response.version(), response.status().as_u16()), (Version::HTTP_2, 200));
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(text(response).await, SUM);
    }
    drop(sender);
    server.stop().await;
}

// SEC-O-01: `:authority` is the host of HTTP/2
#[tokio::test]
async fn hosts_and_faults_are_the_same_as_with_http1() {
    let server = serve().await;
    let (mut sender, _) = open(&server).await;
    let response = within(sender.send_request(request("evil.example", ADD))).await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(!response.headers().contains_key("connection"));
    assert!(text(response).await.contains("-32002"));

    let mut with_host = request(&server.address.to_string(), ADD);
    with_host.headers_mut().insert("host", "evil.example".parse().unwrap());
    assert_eq!(within(sender.send_request(with_host)).await.unwrap().status(), 403);

    let mut plain = request(&server.address.to_string(), ADD);
    plain.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(within(sender.send_request(plain)).await.unwrap().status(), 415);
    // A refusal ends its stream, not the connection.
    let response = within(sender.send_request(request(&server.address.to_string(), ADD))).await.unwrap();
    assert_eq!(text(response).await, SUM);
    drop(sender);
    server.stop().await;
}

// SEC-H-05
#[tokio::test]
async fn an_idle_connection_is_closed() {
    let idle_time = Duration::from_millis(100);
    let server =
        serve_with(Endpoint::new(router()), ServerOptions::default().with_idle_time(idle_time)).await;
    let (mut sender, connection) = open(&server).await;
    let response = within(sender.send_request(request(&server.address.to_string(), ADD))).await.unwrap();
    assert_eq!(text(response).await, SUM);
    within(connection).await.unwrap();
    server.stop().await;
}

/// Calls once, and then sends pings at most, until the server closes; how many bytes the client sent.
async fn idle(server: &Running, pings: Option<Duration>) -> u64 {
    let (here, mut there) = tokio::io::duplex(64 << 10);
    let mut tcp = TcpStream::connect(server.address).await.unwrap();
    // Either way may end with an error; what was passed on before counts.
    let (mut from, mut to) = tcp.split();
    let (mut back, mut forth) = tokio::io::split(&mut there);
    let mut sent = 0;
    let client = async {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(pings).keep_alive_while_idle(true);
        let (mut sender, connection) = builder.handshake(TokioIo::new(here)).await.unwrap();
        let connection = tokio::spawn(async move { drop(connection.await) });
        let response = sender.send_request(request(&server.address.to_string(), ADD)).await.unwrap();
        assert_eq!(text(response).await, SUM);
        connection.await.unwrap();
    };
    let upwards = async {
        let mut chunk = [0; 512];
        while let Ok(count @ 1..) = back.read(&mut chunk).await {
            sent += count as u64;
            if to.write_all(&chunk[..count]).await.is_err() {
                break;
            }
        }
    };
    let downwards = async {
        let _ = tokio::io::copy(&mut from, &mut forth).await;
        forth.shutdown().await.unwrap();
    };
    within(Box::pin(async { tokio::join!(client, upwards, downwards) })).await;
    sent
}

// SEC-H-05
#[tokio::test]
async fn a_connection_that_only_pings_is_closed_like_any_that_is_idle() {
    const PING: u64 = 17;
    let options = ServerOptions::default().with_idle_time(Duration::from_millis(300));
    let server = serve_with(Endpoint::new(router()), options).await;
    let silent = idle(&server, None).await;
    let pinging = idle(&server, Some(Duration::from_millis(10))).await;
    assert!(pinging >= silent + 3 * PING, "{silent} bytes without pings, {pinging} with them");
    server.stop().await;
}

// SEC-L-16
#[tokio::test]
async fn a_head_too_large_is_refused() {
    let server = serve().await;
    let (mut sender, _) = open(&server).await;
    let mut large = request(&server.address.to_string(), ADD);
    large.headers_mut().insert("x-large", "x".repeat(20 << 10).parse().unwrap());
    assert_eq!(within(sender.send_request(large)).await.unwrap().status(), 431);
    server.stop().await;
}

#[tokio::test]
async fn a_shutdown_lets_accepted_streams_finish_and_a_reset_stream_is_cancelled() {
    struct OnDrop(mpsc::UnboundedSender<()>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (began, mut begun) = mpsc::unbounded_channel();
    let (drops, mut dropped) = mpsc::unbounded_channel();
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
    let server = serve_with(Endpoint::new(router.build().unwrap()), ServerOptions::default()).await;
    let (mut sender, connection) = open(&server).await;
    let hold = r#"{"jsonrpc":"2.0","method":"hold","id":1}"#;
    let authority = server.address.to_string();

    let reset = tokio::spawn(sender.send_request(request(&authority, hold)));
    within(begun.recv()).await.unwrap();
    reset.abort();
    within(dropped.recv()).await.unwrap();

    let call = tokio::spawn(sender.send_request(request(&authority, hold)));
    within(begun.recv()).await.unwrap();
    server.handle.shutdown();
    go_on.notify_waiters();
    let response = within(call).await.unwrap().unwrap();
    assert!(text(response).await.contains("done"));
    within(connection).await.unwrap();
    within(server.task).await.unwrap();
}

// JH-30; RFC 9113, 3.4
#[tokio::test]
async fn a_preface_that_does_not_go_on_as_one_is_refused_and_not_answered_as_http1() {
    let server = serve().await;
    for preface in [
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        "PRI * HTTP/2.0\r\nhost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\n\nSM\n\n..........",
        "PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(preface.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        let _ = within(stream.read_to_end(&mut said)).await;
        assert!(!said.starts_with(b"HTTP"), "{preface:?}: {}", String::from_utf8_lossy(&said));
    }
    server.stop().await;
}
