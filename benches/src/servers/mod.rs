//! The servers that are compared.
//!
//! Those for HTTP answer POST with JSON-RPC on HTTP/1.1, know the method `add`, and answer with a `content-type`, a
//! `content-length` and a `date`. Those for WebSocket and for streams know the same method, or echo.
//!
//! All run on the runtime that [`run`] builds, with the default allocator and `TCP_NODELAY`.

use std::io::{self, Error, ErrorKind};
use std::net::TcpListener;

use self::lines::Answers;
use self::tungstenite::Writes;
use crate::workload::Workload;

pub mod axum;
pub mod by_hand;
pub mod by_hand_ws;
pub mod hyper_constant;
pub mod jsonrpsee;
pub mod lines;
pub mod mcp;
pub mod observed;
pub mod secured;
pub mod switchboard;
pub mod tungstenite;

mod accept;

/// The name of the server that answers a constant: the base of the CPU figures.
pub const CONSTANT: &str = "hyper-constant";

/// The servers for HTTP, ours first.
pub const HTTP: &[&str] = &["switchboard", SHIPPED, "by-hand", CONSTANT, "axum", "jsonrpsee"];

/// The program that ships, with its own `add`. It is built from the product's workspace, not from this one.
pub const SHIPPED: &str = "switchboard-serve";

/// Our server behind all layers of security.
pub const SECURED: &str = "switchboard-secured";

/// jsonrpsee behind a tower layer that checks a bearer token.
pub const JSONRPSEE_BEARER: &str = "jsonrpsee-bearer";

/// The servers that show what security costs, ours first.
pub const SECURITY: &[&str] = &["switchboard", SECURED, "jsonrpsee", JSONRPSEE_BEARER];

/// Our server with a log in a file and metrics.
pub const OBSERVED: &str = "switchboard-observed";

/// The servers that show what it costs to be observed, ours first.
pub const OBSERVABILITY: &[&str] = &["switchboard", OBSERVED];

/// Our server of the Model Context Protocol.
pub const MCP: &str = "switchboard-mcp";

/// That of rmcp.
pub const RMCP: &str = "rmcp";

/// The echo of tungstenite that writes together what is there.
pub const TUNGSTENITE: &str = "tungstenite";

/// The echo of tungstenite as its examples have it: default buffers, a write each message.
pub const TUNGSTENITE_EACH: &str = "tungstenite-each";

/// The servers for WebSocket as the tables and the binary `server` call them, ours first.
pub const WEBSOCKET: &[(&str, &str)] = &[
    ("switchboard", "switchboard"),
    (SHIPPED, SHIPPED),
    ("by-hand", BY_HAND_WS),
    ("jsonrpsee", "jsonrpsee"),
    (TUNGSTENITE, TUNGSTENITE),
    (TUNGSTENITE_EACH, TUNGSTENITE_EACH),
];

/// The floor's over WebSocket.
pub const BY_HAND_WS: &str = "by-hand-ws";

/// The echo of lines, over TCP and over standard input and output.
pub const LINE_ECHO: &str = "line-echo";

/// Our server for messages over TCP.
pub const SWITCHBOARD_TCP: &str = "switchboard-tcp";

/// The floor's over TCP.
pub const BY_HAND_TCP: &str = "by-hand-tcp";

/// Every server with a socket that this workspace has.
pub fn names() -> Vec<&'static str> {
    let others = [
        SECURED,
        OBSERVED,
        JSONRPSEE_BEARER,
        BY_HAND_WS,
        TUNGSTENITE,
        TUNGSTENITE_EACH,
        SWITCHBOARD_TCP,
        BY_HAND_TCP,
        LINE_ECHO,
        MCP,
        RMCP,
    ];
    HTTP.iter().copied().filter(|name| *name != SHIPPED).chain(others).collect()
}

/// Whether the server called `name` answered `workload` with what it should: the right answer, or its constant.
pub fn is_right(name: &str, workload: Workload, answer: &[u8]) -> bool {
    match name {
        CONSTANT => answer == hyper_constant::ANSWER,
        _ => workload.is_answered_by(answer),
    }
}

/// Runs the server called `name` on `listener`, on a multi-thread runtime of `workers` threads, until the process ends.
///
/// # Errors
/// When there is no such server, or it cannot use the listener.
pub fn run(name: &str, workers: usize, listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let name = name.to_owned();
    block_on(workers, async move { serve(&name, listener).await })
}

/// Runs the server called `name` on standard input and output, until the input ends.
///
/// # Errors
/// When there is no such server, or it cannot use them.
pub fn run_stdio(name: &str, workers: usize) -> io::Result<()> {
    match name {
        "switchboard" => block_on(workers, switchboard::serve_stdio()),
        "by-hand" => lines::serve_stdio(Answers::Call),
        LINE_ECHO => lines::serve_stdio(Answers::Echo),
        MCP => block_on(workers, mcp::serve_stdio()),
        RMCP => block_on(workers, mcp::serve_rmcp_stdio()),
        _ => Err(unknown(name, &["switchboard", "by-hand", LINE_ECHO, MCP, RMCP])),
    }
}

/// Runs the server on a worker, not on the thread that starts it, as servers do.
fn block_on(workers: usize, server: impl Future<Output = io::Result<()>> + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let server = runtime.spawn(server);
    runtime.block_on(server)?
}

async fn serve(name: &str, listener: TcpListener) -> io::Result<()> {
    match name {
        "switchboard" => switchboard::serve(listener).await,
        "by-hand" => by_hand::serve(listener).await,
        BY_HAND_WS => by_hand_ws::serve(listener).await,
        CONSTANT => hyper_constant::serve(listener).await,
        "axum" => axum::serve(listener).await,
        "jsonrpsee" => jsonrpsee::serve(listener).await,
        SECURED => secured::serve(listener).await,
        OBSERVED => observed::serve(listener).await,
        JSONRPSEE_BEARER => secured::serve_jsonrpsee(listener).await,
        TUNGSTENITE => tungstenite::serve(listener, Writes::Together).await,
        TUNGSTENITE_EACH => tungstenite::serve(listener, Writes::Each).await,
        SWITCHBOARD_TCP => switchboard::serve_tcp(listener).await,
        BY_HAND_TCP => lines::serve(listener, Answers::Call).await,
        LINE_ECHO => lines::serve(listener, Answers::Echo).await,
        MCP => mcp::serve(listener).await,
        RMCP => mcp::serve_rmcp(listener).await,
        _ => Err(unknown(name, &names())),
    }
}

fn unknown(name: &str, known: &[&str]) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("no server {name:?}; there is {}", known.join(", ")))
}
