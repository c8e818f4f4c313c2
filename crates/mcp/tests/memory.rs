//! What sessions hold: little while they are idle, and nothing when they are over.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what it measured")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are sent")]

use std::net::SocketAddr;

use allocation_counter::{AllocationInfo, measure};
use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Router, Settings};
use switchboard_mcp::{HttpOptions, McpRoute, Server};
use switchboard_transport::http::{Endpoint, EndpointOptions, HttpServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How many sessions there are: few in a debug build.
const SESSIONS: usize = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// How many sessions are opened and forgotten.
const FORGOTTEN: usize = 10_000;

/// The most that an idle session may hold, in bytes.
const IDLE: i64 = 10_000;

/// A connection over which requests are sent one after the other.
struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    unread: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, address, unread: Vec::with_capacity(64 << 10) }
    }

    /// Sends a request, and gives the head of its response.
    async fn send(&mut self, method: &str, session: Option<&str>, body: &str) -> String {
        let mut text = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        if let Some(session) = session {
            text.push_str(&format!("mcp-session-id: {session}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.stream.write_all(text.as_bytes()).await.unwrap();
        loop {
            let end = self.unread.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                let head = String::from_utf8(self.unread[..end].to_vec()).unwrap();
                let length: usize =
                    header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
                if self.unread.len() >= end + 4 + length {
                    self.unread.drain(..end + 4 + length);
                    return head;
                }
            }
            let mut buffer = [0; 4096];
            let count = self.stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the connection closed");
            self.unread.extend_from_slice(&buffer[..count]);
        }
    }

    /// Begins a session, uses it once, and gives its identifier.
    async fn session(&mut self) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}, "elicitation": {}, "roots": {"listChanged": true}},
            "clientInfo": {"name": "test", "version": "1.0.0", "title": "A test"},
        });
        let head = self.send("POST", None, &message(Some(1), "initialize", params)).await;
        let session = header(&head, "mcp-session-id").expect("a session").to_owned();
        self.send("POST", Some(&session), &message(None, "notifications/initialized", json!({}))).await;
        self.send("POST", Some(&session), &message(Some(2), "tools/call", json!({"name": "echo"}))).await;
        session
    }
}

fn message(id: Option<u64>, method: &str, params: Value) -> String {
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if let Some(id) = id {
        message["id"] = json!(id);
    }
    message.to_string()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// Runs a server and a client in this thread, and counts what is allocated by what the client does.
fn counted(options: HttpOptions, act: impl AsyncFn(&mut Connection, &McpRoute)) -> AllocationInfo {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let router = Router::builder().method("echo", |params: Option<Json>, _| Ok::<_, ErrorObject>(params));
    let server = Server::new(router.build().unwrap()).named("test", "1.0.0");
    let route = McpRoute::with(&server, Settings::default(), options).unwrap();
    let endpoint = Endpoint::new(Router::builder().build().unwrap())
        .with_options(EndpointOptions::default().route("/mcp", route.clone()));
    let mut connection = runtime.block_on(async {
        let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.serve_endpoint(endpoint));
        let mut connection = Connection::open(address).await;
        // What is allocated once.
        for _ in 0..10 {
            connection.session().await;
        }
        connection
    });
    let counted = measure(|| runtime.block_on(act(&mut connection, &route)));
    drop(connection);
    counted
}

#[test]
fn an_idle_session_holds_at_most_10_kilobytes() {
    let options = HttpOptions::default().with_sessions(SESSIONS * 2);
    let counted = counted(options, async |connection, route| {
        for _ in 0..SESSIONS {
            connection.session().await;
        }
        assert_eq!(route.sessions(), SESSIONS + 10);
    });
    let each = counted.bytes_current / i64::try_from(SESSIONS).unwrap();
    println!("an idle session holds {each} bytes in {} blocks", counted.count_current / SESSIONS as i64);
    assert!(each <= IDLE, "{each} bytes");
}

#[test]
fn sessions_that_are_opened_and_forgotten_leave_nothing_behind() {
    let options = HttpOptions::default().with_sessions(100);
    let counted = counted(options, async |connection, route| {
        for _ in 0..FORGOTTEN {
            connection.session().await;
        }
        assert_eq!(route.sessions(), 100);
    });
    // The table was nearly empty before.
    assert!(counted.bytes_current <= 100 * IDLE, "{counted:?}");
}

#[test]
fn sessions_whose_time_is_over_leave_nothing_behind() {
    let options = HttpOptions::default().with_sessions(FORGOTTEN + 10);
    let time = options.session_time;
    let counted = counted(options, async |connection, route| {
        for _ in 0..FORGOTTEN {
            connection.session().await;
        }
        assert_eq!(route.sessions(), FORGOTTEN + 10);
        tokio::time::pause();
        while route.sessions() > 0 {
            tokio::time::advance(time / 4).await;
        }
    });
    println!("{} bytes are left of {FORGOTTEN} sessions", counted.bytes_current);
    assert!(counted.bytes_current <= 16 * IDLE, "{counted:?}");
}

#[test]
fn deleted_sessions_leave_nothing_behind() {
    let counted = counted(HttpOptions::default(), async |connection, route| {
        for _ in 0..SESSIONS {
            let session = connection.session().await;
            connection.send("DELETE", Some(&session), "").await;
        }
        assert_eq!(route.sessions(), 10);
    });
    assert!(counted.bytes_current <= 16 * IDLE, "{counted:?}");
}
