//! Sessions: the handshake, `ping`, and messages that are not requests.

use serde_json::Value;

use super::{INITIALIZE, in_era, shapes};
use crate::check::bench::Bench;
use crate::check::case::{Case, Need, case, script};
use crate::check::era::{Era, Handshake, INITIALIZED, NEWEST, initialize, only_response, only_result};
use crate::check::message::{Message, Response};
use crate::check::outcome::{Outcome, error, value};
use crate::check::profile::Point;

/// A revision that does not exist.
const UNKNOWN_VERSION: &str = "1999-01-01";

/// The cases.
pub(in crate::check::cases) fn cases() -> Vec<Case> {
    let all = [handshake(), messages()].into_iter().flatten();
    all.map(|case| in_era(Era::Sessions, case)).collect()
}

fn handshake() -> Vec<Case> {
    vec![
        script(
            INITIALIZE,
            "`initialize` is answered with the version, the capabilities and the name of the server",
            &["MCP-L-02", "MCP-L-07", "MCP-B-01"],
            ("initialize with the newest version", "protocolVersion, capabilities and serverInfo"),
            |bench| Box::pin(initialized(bench)),
        ),
        script(
            "mcp-version-supported",
            "a version that the server supports is answered with the same version",
            &["MCP-L-03"],
            ("initialize with a version that the server chose before", "the same version"),
            |bench| Box::pin(same_version(bench)),
        ),
        script(
            "mcp-version-unknown",
            "an unknown version is answered with one that the server supports",
            &["MCP-L-03"],
            (
                "initialize with the version 1999-01-01",
                "a published version, or -32602 with those that are supported",
            ),
            |bench| Box::pin(unknown_version(bench)),
        ),
        script(
            "mcp-initialize-empty",
            "`initialize` without its parameters is refused",
            &["MCP-L-01"],
            ("initialize with empty params", "error -32602"),
            |bench| Box::pin(empty_initialize(bench)),
        )
        .should(),
        script(
            "mcp-before-initialize",
            "a request before `initialize` gets an answer, and does not prevent the handshake",
            &["MCP-L-06"],
            ("tools/list on a new connection, then initialize", "a result or an error, then the handshake"),
            |bench| Box::pin(early(bench)),
        )
        .needs(Need::Duplex),
    ]
}

fn messages() -> Vec<Case> {
    vec![
        case(
            "mcp-ping",
            "`ping` gets an empty result",
            &["MCP-L-11"],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        )
        .right(value("{}", "1")),
        case(
            "mcp-unknown-members",
            "unknown members and unknown keys of `_meta` are ignored",
            &["MCP-B-06", "MCP-B-08"],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"com.example/x":1,"io.modelcontextprotocol/x":{}},"x":[]}}"#,
        )
        .right(value("{}", "1"))
        .rests_on("mcp-ping"),
        case(
            "mcp-cancelled-unknown",
            "cancelling a request that does not exist has no effect",
            &["MCP-C-01", "MCP-B-04"],
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}"#,
        )
        .right(Outcome::Nothing),
        case(
            "mcp-batch",
            "a batch is refused, because the revision has none",
            &["MCP-S-03"],
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        )
        .needs(Need::Revision("2025-06-18"))
        .should()
        .right(error(&[-32600], "null"))
        .right(Outcome::Status(&[400]))
        .common(Point::Silence, Outcome::Nothing)
        .common(Point::Silence, error(&[-32700], "null")),
        script(
            "mcp-batch-2025-03-26",
            "a batch is answered in 2025-03-26, if the server supports that version",
            &["MCP-S-03", "MCP-HTTP-17"],
            ("initialize with 2025-03-26, then a batch of two pings", "two results"),
            |bench| Box::pin(batch(bench)),
        ),
    ]
}

async fn initialized(bench: &mut Bench) -> Result<String, String> {
    let shaken = Handshake::new(bench, NEWEST).await;
    let result = shaken.result()?;
    shapes::initialized(result).map_err(|why| format!("{why}: {result}"))?;
    Ok(shaken.came.to_string())
}

fn version(shaken: &Handshake) -> Result<&str, String> {
    let version = shaken.result()?.get("protocolVersion").and_then(Value::as_str);
    version.ok_or_else(|| shaken.came.to_string())
}

async fn same_version(bench: &mut Bench) -> Result<String, String> {
    let chosen = bench.side().map(|side| side.version.clone()).unwrap_or_default();
    let shaken = Handshake::new(bench, &chosen).await;
    match version(&shaken)? {
        own if own == chosen => Ok(format!("protocolVersion {own}")),
        own => Err(format!("protocolVersion {own} in answer to {chosen}")),
    }
}

async fn unknown_version(bench: &mut Bench) -> Result<String, String> {
    let shaken = Handshake::new(bench, UNKNOWN_VERSION).await;
    // The specification gives this error as an example.
    let is_refusal = |came| only_response(came).is_some_and(|response| response.code() == Some(-32602));
    if is_refusal(&shaken.came) {
        return Ok(shaken.came.to_string());
    }
    match version(&shaken)? {
        UNKNOWN_VERSION => Err(format!("protocolVersion {UNKNOWN_VERSION}, which does not exist")),
        own => Ok(format!("protocolVersion {own}")),
    }
}

async fn empty_initialize(bench: &mut Bench) -> Result<String, String> {
    let message = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let shaken = Handshake::with(bench, message).await;
    match only_response(&shaken.came).and_then(Response::code) {
        Some(-32602) => Ok(shaken.came.to_string()),
        _ => Err(shaken.came.to_string()),
    }
}

async fn early(bench: &mut Bench) -> Result<String, String> {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut shaken = Handshake::with(bench, message).await;
    if !only_response(&shaken.came).is_some_and(|response| response.has_id("1")) {
        return Err(shaken.came.to_string());
    }
    let came = shaken.ask(bench, &initialize(NEWEST)).await;
    match only_result(&came) {
        Some(_) => Ok(shaken.came.to_string()),
        None => Err(format!("the answer to initialize afterwards: {came}")),
    }
}

async fn batch(bench: &mut Bench) -> Result<String, String> {
    let mut shaken = Handshake::new(bench, "2025-03-26").await;
    if version(&shaken)? != "2025-03-26" {
        return Ok("the server does not support 2025-03-26".to_owned());
    }
    shaken.notify(bench, INITIALIZED).await;
    let pings = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    let came = shaken.ask(bench, pings).await;
    // Over an event stream the responses may come one by one.
    let responses: Vec<_> = came.messages.iter().flat_map(Message::responses).collect();
    let is_there = |id| responses.iter().any(|response| response.has_id(id) && !response.is_error());
    if is_there("1") && is_there("2") { Ok(came.to_string()) } else { Err(came.to_string()) }
}
