//! Peers that send calls and do not take the answers: what is held for them is bounded, and they are dropped.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp", feature = "unix"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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

async fn serve(send_time: Duration, urls: &[&str]) -> Running {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let long = move |(): (), _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ErrorObject>("x".repeat(ANSWER))
    };
    let limits = Limits { outbox: 16 * MARK, send_time, ..Limits::default() };
    let router = Router::builder().method("long", long).build().unwrap();
    let mut server = Server::new(router).with_settings(Settings { limits, ..Settings::default() });
    for url in urls {
        server.listen(url).await.unwrap();
    }
    let (urls, handle) = (server.urls().collect(), server.handle());
    Running { urls, ran, server: tokio::spawn(server.serve()), handle }
}

/// Sends calls until the server takes no more of them.
async fn flood(stream: &mut (impl AsyncWrite + Unpin), ran: &AtomicUsize) {
    let calls = "{\"jsonrpc\":\"2.0\",\"method\":\"long\",\"id\":1}\n".repeat(1000);
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
    let running = serve(Duration::from_secs(1), &["tcp://127.0.0.1:0", &unix]).await;
    let address = running.urls[0].strip_prefix("tcp://").unwrap();

    let mut tcp = TcpStream::connect(address).await.unwrap();
    flood(&mut tcp, &running.ran).await;
    until_dropped(&mut tcp).await;

    running.ran.store(0, Ordering::Relaxed);
    let mut unix = UnixStream::connect(&path).await.unwrap();
    flood(&mut unix, &running.ran).await;
    until_dropped(&mut unix).await;
    running.handle.shutdown();
    within(running.server).await.unwrap();
}
