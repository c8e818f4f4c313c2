//! Peers that send calls and do not take the answers: what is held for them is bounded, and they are dropped.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp", feature = "unix"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use support::within;
use switchboard_core::{ErrorObject, Limits, Router, Settings};
use switchboard_transport::server::Server;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// Bytes of one answer.
const ANSWER: usize = 10_000;
/// Answers of so many bytes keep a connection from being read.
const MARK: usize = 1 << 20;
/// As much fits into the buffers of the sockets, both ways.
const SOCKETS: usize = 16 << 20;

struct Running {
    urls: Vec<String>,
    ran: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
    handle: switchboard_transport::server::Handle,
}

async fn serve(mark: usize, urls: &[&str]) -> Running {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let long = move |(): (), _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ErrorObject>("x".repeat(ANSWER))
    };
    let limits = Limits::default().with_outbox(16 * mark).with_send_time(Duration::from_secs(1));
    let router = Router::builder().method("long", long).build().unwrap();
    let mut server = Server::new(router).with_settings(Settings::default().with_limits(limits));
    for url in urls {
        server.listen(url).await.unwrap();
    }
    let (urls, handle) = (server.urls().collect(), server.handle());
    Running { urls, ran, server: tokio::spawn(server.serve()), handle }
}

const CALL: &str = r#"{"jsonrpc":"2.0","method":"long","id":1}"#;

/// Sends calls until the server takes no more of them.
async fn flood(stream: &mut (impl AsyncWrite + Unpin), call: &str, ran: &AtomicUsize) {
    let calls = call.repeat(1000);
    while tokio::time::timeout(Duration::from_millis(500), stream.write_all(calls.as_bytes())).await.is_ok() {
        assert!(ran.load(Ordering::Relaxed) * ANSWER < 2 * (MARK + SOCKETS), "calls go on being run");
    }
}

/// Waits until the server has closed the connection: what is sent to it then fails.
async fn until_dropped(stream: &mut (impl AsyncWrite + Unpin)) {
    within(async { while stream.write_all(b"\n").await.is_ok() {} }).await;
}

#[tokio::test]
async fn a_peer_that_never_reads_has_few_calls_run_and_is_dropped() {
    let folder = std::env::temp_dir().join(format!("sb-{}-slow", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("s.sock");
    let unix = format!("unix:{}", path.display());
    let running = serve(MARK, &["tcp://127.0.0.1:0", &unix]).await;
    let address = running.urls[0].strip_prefix("tcp://").unwrap();

    let mut tcp = TcpStream::connect(address).await.unwrap();
    flood(&mut tcp, &format!("{CALL}\n"), &running.ran).await;
    until_dropped(&mut tcp).await;

    running.ran.store(0, Ordering::Relaxed);
    let mut unix = UnixStream::connect(&path).await.unwrap();
    flood(&mut unix, &format!("{CALL}\n"), &running.ran).await;
    until_dropped(&mut unix).await;
    running.handle.shutdown();
    within(running.server).await.unwrap();
}

#[tokio::test]
async fn a_peer_that_never_reads_is_dropped_over_http1() {
    let running = serve(MARK, &["http://127.0.0.1:0"]).await;
    let address = running.urls[0].strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = CALL.len();
    let post = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{CALL}"
    );
    flood(&mut stream, &post, &running.ran).await;
    until_dropped(&mut stream).await;
    running.handle.shutdown();
    within(running.server).await.unwrap();
}

/// The peer pings all the time, so that the bytes of the socket tell nothing about it.
#[tokio::test]
async fn a_peer_that_opens_no_window_is_refused_and_dropped_over_http2() {
    // Fewer than the hundred answers that HTTP/2 has at once.
    const FEW: usize = 30 * ANSWER;
    let running = serve(FEW, &["http://127.0.0.1:0"]).await;
    let address = running.urls[0].strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let stream = TcpStream::connect(&*address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut client = http2::Builder::new(TokioExecutor::new());
    client.timer(TokioTimer::new()).keep_alive_interval(Duration::from_millis(100));
    let client = client.initial_stream_window_size(0);
    let (mut sender, connection) = client.handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut responses = Vec::new();
    for _ in 0..50 {
        let request = Request::post(format!("http://{address}/")).header("content-type", "application/json");
        let response = sender.send_request(request.body(Full::new(Bytes::from(CALL))).unwrap());
        // The head of an answer needs no window.
        responses.push(within(response).await.unwrap());
    }
    let ran = running.ran.load(Ordering::Relaxed);
    assert!((30..=31).contains(&ran), "{ran} calls ran");
    let refused = responses.iter().filter(|response| response.status() == 503).count();
    assert_eq!(refused, 50 - ran);
    // Dropped by the server: the client would keep it.
    within(connection).await.unwrap().unwrap_err();
    running.handle.shutdown();
    within(running.server).await.unwrap();
}
