//! A server on a free port, and a client that sends exactly what it is told.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this")]

pub mod picks;

use std::net::SocketAddr;
use std::time::Duration;

use switchboard_core::{Context, ErrorObject, Router, Settings, Tap};
use switchboard_transport::http::{Endpoint, HttpServer};
use switchboard_transport::server::{Handle, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Nothing in these tests takes that long; it only keeps a mistake from hanging them.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn router() -> Router {
    Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("echo", |(text,): (String,), _| Ok::<_, ErrorObject>(text))
        .method("from", |(): (), cx: Context| {
            Ok::<_, ErrorObject>((cx.origin().transport, cx.origin().address.map(|a| a.ip().to_string())))
        })
        .build()
        .unwrap()
}

pub struct Running {
    pub address: SocketAddr,
    pub handle: Handle,
    pub task: JoinHandle<()>,
}

impl Running {
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Stops the server and waits until it is done.
    pub async fn stop(self) {
        self.handle.shutdown();
        within(self.task).await.unwrap();
    }
}

/// The settings that turn the fast path of HTTP off, so that hyper answers: a tap sees what hyper reads and writes.
pub fn by_hyper(settings: Settings) -> Settings {
    settings.with_tap(Some(Tap::new(|_, _| {})))
}

pub async fn serve() -> Running {
    serve_with(Endpoint::new(router()), ServerOptions::default()).await
}

pub async fn serve_with(endpoint: Endpoint, options: ServerOptions) -> Running {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap().with_options(options);
    let (address, handle) = (server.local_addr(), server.handle());
    Running { address, handle, task: tokio::spawn(server.serve_endpoint(endpoint)) }
}

pub async fn within<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future.into_future()).await.expect("something takes too long")
}

/// A connection that sends exactly what it is told.
pub struct Raw {
    stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug)]
pub struct Received {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut found =
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
        let first = found.next();
        assert_eq!(found.next(), None, "{name} stands twice in {}", self.head);
        first
    }
}

impl Raw {
    pub async fn open(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Raw { stream, unread: Vec::new() }
    }

    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.stream.write_all(text.as_ref()).await.unwrap();
    }

    /// Sends, and tells whether the far side took it all.
    pub async fn try_send(&mut self, text: impl AsRef<[u8]>) -> bool {
        within(self.stream.write_all(text.as_ref())).await.is_ok()
    }

    /// The next response, by its `Content-Length`. None if the connection closes instead.
    pub async fn response(&mut self) -> Option<Received> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(self.unread[..end].to_vec()).unwrap();
                let status = head[9..12].parse().unwrap();
                let mut received = Received { status, head, body: String::new() };
                let length: usize =
                    received.header("content-length").map_or(0, |value| value.parse().unwrap());
                if self.unread.len() >= end + 4 + length {
                    let rest = self.unread.split_off(end + 4 + length);
                    received.body = String::from_utf8(self.unread.split_off(end + 4)).unwrap();
                    self.unread = rest;
                    return Some(received);
                }
            }
            if !self.read_more().await {
                return None;
            }
        }
    }

    /// Waits until something has come.
    pub async fn first_byte(&mut self) {
        assert!(!self.unread.is_empty() || self.read_more().await, "the connection is closed");
    }

    /// Whether the far side closes the connection without another byte.
    pub async fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && !self.read_more().await
    }

    /// All that comes until the far side closes the connection.
    pub async fn read_to_end(&mut self) -> String {
        while self.read_more().await {}
        String::from_utf8_lossy(&self.unread).into_owned()
    }

    async fn read_more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match within(self.stream.read(&mut buffer)).await {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.unread.extend_from_slice(&buffer[..count]);
                true
            }
        }
    }
}

/// A POST of this body to `/`, with these lines among its headers.
pub fn post(address: SocketAddr, headers: &str, body: &str) -> String {
    post_to(address, "/", &format!("content-type: application/json\r\n{headers}"), body)
}

/// A POST without any header but `Host` and `Content-Length`.
pub fn post_to(address: SocketAddr, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// Sends one request over a connection of its own.
pub async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Received {
    let mut raw = Raw::open(address).await;
    raw.send(request).await;
    raw.response().await.expect("an answer")
}

pub const ADD: &str = r#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#;
pub const SUM: &str = r#"{"jsonrpc":"2.0","result":5,"id":1}"#;
