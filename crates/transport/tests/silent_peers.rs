//! Peers that connect and say nothing, or nothing more: they are closed in time, and never take the permits of every listener.
#![cfg(all(feature = "tls", feature = "ws", feature = "tcp", feature = "unix", unix))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "support/certificates.rs"]
mod certificates;
mod support;

use std::time::Duration;

use certificates::Authority;
use futures_util::stream;
use support::within;
use switchboard_core::{Context, ErrorObject, Method, Router};
use switchboard_transport::server::{Handle, Server, ServerOptions};
use switchboard_transport::tls::ServerTls;
use switchboard_transport::{Dial, Raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

const SHORT: Duration = Duration::from_millis(100);
const ADD: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":[2,3],\"id\":1}\n";
const HANDSHAKE: &str = "GET /rpc/ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

struct Running {
    authority: Authority,
    urls: Vec<String>,
    handle: Handle,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(options: ServerOptions) -> Running {
        let authority = Authority::new();
        let router = Router::builder()
            .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
            .method("push", |(): (), cx: Context| {
                // Notifications that nobody asked for again, for as long as the connection lasts.
                tokio::spawn(async move {
                    let mut ticks = tokio::time::interval(SHORT / 4);
                    while cx.peer().notify("tick", ()).await.is_ok() {
                        ticks.tick().await;
                    }
                });
                Ok::<_, ErrorObject>(())
            })
            .add(Method::stream("wait", |(): (), _| stream::pending::<u32>()))
            .build()
            .unwrap();
        let mut server =
            Server::new(router).with_options(options).with_tls(ServerTls::load(authority.server()).unwrap());
        let unix = format!("unix:{}", authority.file("s.sock").display());
        for url in ["tcp://127.0.0.1:0", "tls://127.0.0.1:0", &unix, "http://127.0.0.1:0"] {
            server.listen(url).await.unwrap();
        }
        let (urls, handle) = (server.urls().collect(), server.handle());
        Running { authority, urls, handle, task: tokio::spawn(server.serve()) }
    }

    fn dial(&self, scheme: &str) -> Dial {
        let url = self.urls.iter().find(|url| url.starts_with(scheme)).unwrap();
        Dial::new(url).unwrap().with_tls(self.authority.client(None))
    }

    /// A connection on which this was sent.
    async fn open(&self, scheme: &str, bytes: &str) -> Raw {
        let mut raw = self.dial(scheme).raw().await.unwrap();
        raw.write_all(bytes.as_bytes()).await.unwrap();
        raw.flush().await.unwrap();
        raw
    }

    async fn stop(self) {
        self.handle.shutdown();
        within(self.task).await.unwrap();
    }
}

/// All that comes until the server closes the connection.
async fn read_to_end(raw: &mut Raw) -> Vec<u8> {
    let mut all = Vec::new();
    within(raw.read_to_end(&mut all)).await.unwrap();
    all
}

/// Calls over a connection that is open, and reads until the answer has come.
async fn adds(raw: &mut Raw) -> bool {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    if raw.write_all(ADD.as_bytes()).await.is_err() || raw.flush().await.is_err() {
        return false;
    }
    while !String::from_utf8_lossy(&all).contains("\"result\":5") {
        match within(raw.read(&mut buffer)).await {
            Ok(0) | Err(_) => return false,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
        }
    }
    true
}

#[tokio::test]
async fn a_connection_without_a_first_byte_is_closed() {
    let server = Running::start(ServerOptions::default().with_first_byte_time(Some(SHORT))).await;
    for scheme in ["tcp:", "tls:", "unix:"] {
        let mut spoken = server.open(scheme, ADD).await;
        let mut silent = server.open(scheme, "").await;
        assert_eq!(read_to_end(&mut silent).await, b"", "{scheme}");
        assert!(adds(&mut spoken).await, "{scheme}: a connection that has sent something stays");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Running::start(ServerOptions::default().with_duplex_idle_time(Some(SHORT))).await;
    for scheme in ["tcp:", "tls:", "unix:"] {
        let all = read_to_end(&mut server.open(scheme, ADD).await).await;
        assert!(String::from_utf8(all).unwrap().ends_with("\"result\":5,\"id\":1}\n"), "{scheme}");
    }
    // A WebSocket is told why, with the code 1001. Its frames have a mask of zeros here.
    let mut websocket = server.open("http:", HANDSHAKE).await;
    let call = ADD.trim_end();
    let mut frame = vec![0x81, 0x80 | u8::try_from(call.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(call.as_bytes());
    websocket.write_all(&frame).await.unwrap();
    let all = String::from_utf8_lossy(&read_to_end(&mut websocket).await).into_owned();
    assert!(all.contains("\"result\":5") && all.contains("idle for too long"), "{all}");
    server.stop().await;
}

#[tokio::test]
async fn a_connection_with_a_stream_or_with_notifications_is_not_idle() {
    let server = Running::start(ServerOptions::default().with_duplex_idle_time(Some(SHORT))).await;
    let mut busy = Vec::new();
    for (scheme, method) in [("tcp:", "wait"), ("tls:", "push"), ("unix:", "wait"), ("tcp:", "push")] {
        let call = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"id\":1}}\n");
        busy.push((scheme, method, server.open(scheme, &call).await));
    }
    for _ in 0..3 {
        read_to_end(&mut server.open("tcp:", ADD).await).await;
    }
    for (scheme, method, mut raw) in busy {
        assert!(adds(&mut raw).await, "{scheme} {method}: it was closed");
    }
    server.stop().await;
}

// SEC-L-11
#[tokio::test]
async fn silent_connections_of_one_listener_leave_room_at_the_others() {
    let server = Running::start(ServerOptions::default().with_connections(16)).await;
    for scheme in ["tcp:", "unix:", "http:"] {
        let mut silent = Vec::new();
        for _ in 0..17 {
            silent.push(server.open(scheme, "").await);
        }
        // They are accepted in their order, and the last one is refused.
        let refused = String::from_utf8_lossy(&read_to_end(silent.last_mut().unwrap()).await).into_owned();
        assert!(refused.contains("-32005"), "{scheme}: {refused}");
        for other in ["tcp:", "tls:", "unix:", "http:"] {
            if other != scheme {
                let peer = server.dial(other).connect().await.unwrap();
                let sum = within(peer.call::<i64>("add", [2, 3]).into_future()).await;
                assert_eq!(sum, Ok(5), "{other} while {scheme} is full");
            }
        }
        // The next listener needs the permits that all share.
        drop(silent);
        within(async {
            loop {
                let peer = server.dial(scheme).connect().await.unwrap();
                if peer.call::<i64>("add", [2, 3]).await.is_ok() {
                    break;
                }
            }
        })
        .await;
    }
    server.stop().await;
}
