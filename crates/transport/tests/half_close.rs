//! Peers that shut down their sending side and go on reading: over every transport that has two sides.
#![cfg(all(feature = "tls", feature = "ws", feature = "tcp", feature = "unix", unix))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "support/certificates.rs"]
mod certificates;
mod support;

use std::time::Duration;

use certificates::Authority;
use futures_util::{Stream, StreamExt as _, stream};
use support::within;
use switchboard_core::{Limits, Method, Router, Settings};
use switchboard_transport::server::{Handle, Server};
use switchboard_transport::tls::ServerTls;
use switchboard_transport::{Dial, Raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(3600);

struct Running {
    authority: Authority,
    urls: Vec<String>,
    handle: Handle,
    task: JoinHandle<()>,
    /// Hears of every `ticks` that was dropped.
    dropped: mpsc::UnboundedReceiver<()>,
}

impl Running {
    async fn start(drain_time: Duration) -> Running {
        let authority = Authority::new();
        let (drops, dropped) = mpsc::unbounded_channel();
        let router = Router::builder()
            .add(Method::stream("count", |(): (), _| ticks().take(5)))
            .add(Method::stream("wait", |(): (), _| stream::once(async { "first" }).chain(stream::pending())))
            .add(Method::stream("ticks", move |(): (), _| {
                let end = OnDrop(drops.clone());
                ticks().inspect(move |_| {
                    let _ = &end;
                })
            }));
        let limits = Limits::default().with_drain_time(drain_time);
        let mut server = Server::new(router.build().unwrap())
            .with_settings(Settings::default().with_limits(limits))
            .with_tls(ServerTls::load(authority.server()).unwrap());
        let unix = format!("unix:{}", authority.file("s.sock").display());
        for url in ["tcp://127.0.0.1:0", "tls://127.0.0.1:0", &unix] {
            server.listen(url).await.unwrap();
        }
        let (urls, handle) = (server.urls().collect(), server.handle());
        Running { authority, urls, handle, task: tokio::spawn(server.serve()), dropped }
    }

    /// A connection over each transport on which this was sent.
    async fn sent(&self, bytes: &str) -> Vec<(String, Raw)> {
        let mut connections = Vec::new();
        for url in &self.urls {
            let dial = Dial::new(url).unwrap().with_tls(self.authority.client(None));
            let mut raw = dial.raw().await.unwrap();
            raw.write_all(bytes.as_bytes()).await.unwrap();
            raw.flush().await.unwrap();
            connections.push((url.clone(), raw));
        }
        connections
    }

    /// The same, and then the sending side was shut down, as by `printf … | nc`.
    async fn piped(&self, bytes: &str) -> Vec<(String, Raw)> {
        let mut connections = self.sent(bytes).await;
        for (_, raw) in &mut connections {
            raw.shutdown().await.unwrap();
        }
        connections
    }

    async fn stop(self) {
        self.handle.shutdown();
        within(self.task).await.unwrap();
    }
}

/// Items that take a moment each, so that the end of the input is seen before them.
fn ticks() -> impl Stream<Item = u32> + Send {
    let time = Duration::from_millis(20);
    let ticks = tokio::time::interval_at(tokio::time::Instant::now() + time, time);
    stream::unfold((0, ticks), |(count, mut ticks)| async move {
        ticks.tick().await;
        Some((count, (count + 1, ticks)))
    })
}

struct OnDrop(mpsc::UnboundedSender<()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

fn call(method: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"id\":1}}\n")
}

async fn read_to_end(raw: &mut Raw) -> String {
    let mut all = String::new();
    within(raw.read_to_string(&mut all)).await.unwrap();
    all
}

/// Reads until this text has come.
async fn read_until(raw: &mut Raw, expected: &str) {
    let (mut all, mut buffer) = (String::new(), [0; 1024]);
    while !all.contains(expected) {
        let count = within(raw.read(&mut buffer)).await.unwrap();
        assert!(count > 0, "it ended with {all}");
        all.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

#[tokio::test]
async fn a_stream_is_read_to_its_end() {
    let server = Running::start(LONG).await;
    for (url, mut raw) in server.piped(&call("count")).await {
        let all = read_to_end(&mut raw).await;
        let (items, end) = (all.matches("rpc.item").count(), all.lines().last().unwrap());
        assert_eq!(items, 5, "{url}: {all}");
        assert!(end.contains("rpc.end") && !end.contains("error"), "{url}: {all}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_without_end_is_ended_after_the_drain_time() {
    let server = Running::start(Duration::from_millis(200)).await;
    for (url, mut raw) in server.piped(&call("wait")).await {
        let all = read_to_end(&mut raw).await;
        assert!(all.contains("\"first\""), "{url}: {all}");
        assert!(all.lines().last().unwrap().contains("-32006"), "{url}: {all}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_without_end_does_not_keep_a_server_from_stopping() {
    let server = Running::start(LONG).await;
    let mut connections = server.piped(&call("wait")).await;
    for (_, raw) in &mut connections {
        read_until(raw, "\"first\"").await;
    }
    server.stop().await;
    for (url, mut raw) in connections {
        let rest = read_to_end(&mut raw).await;
        assert!(rest.contains("-32006"), "{url}: {rest}");
    }
}

#[tokio::test]
async fn a_stream_ends_in_good_order_when_its_reader_is_cut_off() {
    let server = Running::start(LONG).await;
    for (url, mut raw) in server.piped(&format!("{}{{\"jsonrpc\":", call("wait"))).await {
        let all = read_to_end(&mut raw).await;
        assert!(all.lines().last().unwrap().contains("-32006"), "{url}: {all}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_is_dropped_when_its_reader_is_gone() {
    let mut server = Running::start(LONG).await;
    for (url, mut raw) in server.sent(&call("ticks")).await {
        read_until(&mut raw, "rpc.item").await;
        drop(raw);
        assert!(within(server.dropped.recv()).await.is_some(), "{url}");
    }
    server.stop().await;
}
