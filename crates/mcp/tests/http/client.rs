//! Requests over connections of their own, and what comes back, piece by piece.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
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
        self.header("content-type") == Some("text/event-stream")
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

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A client with a session.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) session: String,
    pub(crate) user: Option<&'static str>,
}

impl Client {
    /// Begins a session of this revision.
    pub(crate) async fn session(address: SocketAddr, revision: &str, capabilities: Value) -> Client {
        Client::session_of(address, revision, capabilities, None).await
    }

    pub(crate) async fn session_of(
        address: SocketAddr,
        revision: &str,
        capabilities: Value,
        user: Option<&'static str>,
    ) -> Client {
        let received = post(
            address,
            &user.map(|user| ("x-user", user)).into_iter().collect::<Vec<_>>(),
            &initialize(revision, capabilities),
        )
        .await;
        assert_eq!(received.status, 200);
        let session = received.header("mcp-session-id").expect("a session").to_owned();
        let client = Client { address, session, user };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.post(&initialized).await.status, 202);
        client
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let user = self.user.map(|user| ("x-user", user));
        [("mcp-session-id", self.session.as_str())].into_iter().chain(user).collect()
    }

    pub(crate) async fn post(&self, message: &Value) -> Received {
        post(self.address, &self.headers(), message).await
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.post(&request(method, params)).await.answer().await
    }

    /// Opens the stream of the session, or resumes one after this event.
    pub(crate) async fn get(&self, after: Option<&str>) -> Received {
        let mut headers = self.headers();
        headers.push(("accept", "text/event-stream"));
        headers.extend(after.map(|after| ("last-event-id", after)));
        send(self.address, "GET /mcp", &headers, None).await
    }

    pub(crate) async fn delete(&self) -> Received {
        send(self.address, "DELETE /mcp", &self.headers(), None).await
    }
}

/// The capabilities of a client that can be asked.
pub(crate) fn everything() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}})
}

pub(crate) fn request(method: &str, params: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params.into()})
}

pub(crate) fn initialize(revision: &str, capabilities: impl Into<Value>) -> Value {
    let capabilities = capabilities.into();
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
    request("initialize", params)
}

/// Posts a message with these headers beside the usual ones.
pub(crate) async fn post(address: SocketAddr, headers: &[(&str, &str)], message: &Value) -> Received {
    let headers: Vec<_> = [JSON, BOTH].iter().chain(headers).copied().collect();
    send(address, "POST /mcp", &headers, Some(&message.to_string())).await
}

/// Posts a request that stands alone, with the headers that repeat its parts.
pub(crate) async fn post_alone(
    address: SocketAddr,
    more: &[(&str, &str)],
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> Received {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    headers.extend_from_slice(more);
    post(address, &headers, &request(method, params)).await
}
