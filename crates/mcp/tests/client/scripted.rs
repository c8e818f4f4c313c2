//! A server over HTTP that answers exactly what it is told.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request that it got.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `POST` or `GET`.
    pub(crate) verb: String,
    /// In lower case.
    pub(crate) headers: String,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// Runs until it is dropped.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// Answers each request with what the function gives: a whole response, as text. The connection closes after it.
    pub(crate) async fn start(answer: impl Fn(Asked) -> String + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, answer) = (listener.local_addr().unwrap(), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let (mut head, mut length) = (String::new(), 0);
                    loop {
                        let from = head.len();
                        if stream.read_line(&mut head).await.unwrap_or(0) <= 2 {
                            break;
                        }
                        let line = head[from..].to_ascii_lowercase();
                        if let Some(value) = line.strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                    }
                    let mut body = vec![0; length];
                    if head.is_empty() || stream.read_exact(&mut body).await.is_err() {
                        return;
                    }
                    let verb = head.split(' ').next().unwrap_or_default().to_owned();
                    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    let text = answer(Asked { verb, headers: head.to_ascii_lowercase(), body });
                    let _ = stream.get_mut().write_all(text.as_bytes()).await;
                    let _ = stream.get_mut().shutdown().await;
                });
            }
        });
        Scripted { address, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

pub(crate) fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The answer to a request, as JSON.
pub(crate) fn result(asked: &Asked, result: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
    response("200 OK", "application/json", &body.to_string())
}

/// An event stream with this text.
pub(crate) fn events(text: &str) -> String {
    response("200 OK", "text/event-stream", text)
}

/// What a server with sessions answers to everything but the calls of tools.
pub(crate) fn with_sessions(asked: &Asked) -> String {
    match (asked.verb.as_str(), asked.method()) {
        ("POST", "initialize") => result(
            asked,
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
        ),
        ("POST", method) if method.starts_with("notifications/") => {
            response("202 Accepted", "application/json", "")
        }
        ("POST", _) => response("400 Bad Request", "text/plain", "no"),
        _ => response("405 Method Not Allowed", "text/plain", ""),
    }
}

/// What a server without sessions answers to everything but lists and calls.
pub(crate) fn stateless(asked: &Asked) -> String {
    match asked.method() {
        "server/discover" => result(
            asked,
            &json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private",
            }),
        ),
        _ => response("404 Not Found", "text/plain", "no"),
    }
}
