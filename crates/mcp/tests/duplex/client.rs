//! A client that sends exactly what it is told, in memory.

use std::future::poll_fn;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{Connection, Engine, FrameSink as _, FrameSource as _, Origin, Settings};
use switchboard_mcp::Server;
use switchboard_transport::memory::{self, MemorySink, MemorySource};

/// Only tells a hang from a test that waits: time stands still in these tests unless everything waits.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The capabilities of a client that can be asked for everything.
pub(crate) fn everything() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}})
}

/// One end of a connection to a server.
pub(crate) struct Client {
    source: MemorySource,
    sink: MemorySink,
    last: u64,
}

impl Client {
    /// Connects, without a handshake.
    pub(crate) fn connect(server: &Server) -> Client {
        let ((source, sink), (far_source, far_sink)) = memory::pair(1 << 20);
        let settings = Settings::default().with_profile(Server::profile());
        let engine = Engine::new(server.service().unwrap(), settings);
        let (peer, connection) = Connection::new(far_source, far_sink, engine, Origin::new("memory"));
        drop(peer);
        tokio::spawn(connection);
        Client { source, sink, last: 0 }
    }

    /// Connects and begins a session of this revision.
    pub(crate) async fn session(server: &Server, revision: &str, capabilities: Value) -> Client {
        let mut client = Client::connect(server);
        let answer = client.initialize(revision, capabilities).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// Asks to begin a session, and gives the answer.
    pub(crate) async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        self.ask("initialize", params).await
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.sink.push(text.as_bytes());
        poll_fn(|cx| self.sink.poll_flush(cx)).await.unwrap();
    }

    /// Sends a request, and gives its identifier.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(&message).await;
        self.last
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let frame = tokio::time::timeout(PATIENCE, poll_fn(|cx| self.source.poll_frame(cx))).await;
        let frame = frame.expect("no message came").expect("the connection has ended").unwrap();
        serde_json::from_slice(&frame).unwrap()
    }

    /// The next message, which has to be a notification of this method: its params.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        assert_eq!(message.get("id"), None, "{message}");
        message["params"].clone()
    }

    /// Sends a request. The next message has to be its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{method}: {answer}");
        answer
    }

    /// Makes a request that stands alone.
    pub(crate) async fn ask_alone(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, alone(params, json!({}))).await
    }

    /// Calls a tool. The next message has to be its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Nothing waits to be read: the answer to a ping comes next.
    pub(crate) async fn is_silent(&mut self) {
        let answer = self.ask("ping", json!({})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
}

/// The params of a request that stands alone, from a client with these capabilities.
pub(crate) fn alone(mut params: Value, capabilities: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}
