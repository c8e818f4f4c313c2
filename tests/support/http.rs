//! HTTP requests over connections of their own, and what comes back, piece by piece.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Nothing in these tests takes that long; it only keeps a mistake from hanging them.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("something takes too long")
}

/// A response whose body is read when it is asked for. When it is dropped, the connection closes.
pub(crate) struct Received {
    pub(crate) status: u16,
    headers: HashMap<String, String>,
    stream: TcpStream,
    unread: Vec<u8>,
    body: Vec<u8>,
    /// How many bytes of the body are still to come, unless it comes in chunks.
    left: Option<usize>,
    has_ended: bool,
}

/// An event of an event stream.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) data: Option<String>,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        let data = self.data.as_deref().unwrap_or_default();
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{data:?}: {error}"))
    }
}

/// Sends a request.
pub(crate) async fn send(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Received {
    let mut stream = within(TcpStream::connect(address)).await.unwrap();
    let mut text = format!("{line} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body.unwrap_or_default());
    stream.write_all(text.as_bytes()).await.unwrap();
    Received::read(stream).await
}

impl Received {
    async fn read(stream: TcpStream) -> Received {
        let mut received = Received {
            status: 0,
            headers: HashMap::new(),
            stream,
            unread: Vec::new(),
            body: Vec::new(),
            left: None,
            has_ended: false,
        };
        let end = loop {
            if let Some(end) = position(&received.unread, b"\r\n\r\n") {
                break end;
            }
            assert!(received.more().await, "the connection closed without a response");
        };
        let head: Vec<u8> = received.unread.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        received.status = head[9..12].parse().unwrap();
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        received.headers =
            lines.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        received.left = received.headers.get("content-length").map(|length| length.parse().unwrap());
        if received.left.is_none() && !received.headers.contains_key("transfer-encoding") {
            received.left = Some(0);
        }
        received
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn is_events(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// Reads from the connection.
    async fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let count = within(self.stream.read(&mut buffer)).await.unwrap_or(0);
        self.unread.extend_from_slice(&buffer[..count]);
        count > 0
    }

    /// Moves what came into the body. False when there is no more.
    async fn fill(&mut self) -> bool {
        loop {
            match self.left {
                Some(0) => self.has_ended = true,
                Some(left) if !self.unread.is_empty() => {
                    let count = left.min(self.unread.len());
                    self.body.extend(self.unread.drain(..count));
                    self.left = Some(left - count);
                    return true;
                }
                Some(_) => {}
                None => {
                    if let Some(end) = position(&self.unread, b"\r\n") {
                        let size = std::str::from_utf8(&self.unread[..end]).unwrap();
                        let size = usize::from_str_radix(size, 16).unwrap();
                        if self.unread.len() >= end + 2 + size + 2 {
                            self.body.extend_from_slice(&self.unread[end + 2..end + 2 + size]);
                            self.unread.drain(..end + 2 + size + 2);
                            self.has_ended = size == 0;
                            return !self.has_ended;
                        }
                    }
                }
            }
            if self.has_ended || !self.more().await {
                return false;
            }
        }
    }

    /// The rest of the body.
    pub(crate) async fn text(mut self) -> String {
        while self.fill().await {}
        String::from_utf8(self.body).unwrap()
    }

    /// The body as JSON.
    pub(crate) async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    /// The next event that is not a comment. None when the stream has ended.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = position(&self.body, b"\n\n") {
                let text: Vec<u8> = self.body.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in String::from_utf8(text).unwrap().lines() {
                    let Some((name, value)) = line.split_once(": ") else { continue };
                    let value = Some(value.to_owned());
                    match name {
                        "event" => event.name = value,
                        "id" => event.id = value,
                        "retry" => event.retry = value,
                        "data" => event.data = value,
                        _ => {}
                    }
                }
                if event.data.is_some() {
                    return Some(event);
                }
            } else if !self.fill().await {
                return None;
            }
        }
    }

    /// The next event with a message.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let event = self.event().await.expect("another event");
            if event.data.as_deref() != Some("") {
                return event.json();
            }
        }
    }

    /// The answer, whether it comes as a whole or as the last event.
    pub(crate) async fn answer(mut self) -> Value {
        if !self.is_events() {
            return self.json().await;
        }
        loop {
            let message = self.message().await;
            if message.get("method").is_none() {
                return message;
            }
        }
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
