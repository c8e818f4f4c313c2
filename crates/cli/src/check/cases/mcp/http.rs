//! Streamable HTTP with sessions: statuses, headers, and the identifier of a session.

use super::in_era;
use crate::check::bench::Bench;
use crate::check::case::{Case, Need, http, script};
use crate::check::era::{Era, Handshake, NEWEST, SESSION};
use crate::check::outcome::{Outcome, value};
use crate::check::wire::Request;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// An origin that no server has.
pub(super) const FOREIGN: &str = "Origin: http://switchboard-check.example\r\n";
/// A host that no server has.
pub(super) const FOREIGN_HOST: &str = "switchboard-check.example";

/// The cases.
pub(in crate::check::cases) fn cases() -> Vec<Case> {
    let all = [answers(), sessions(), headers()].into_iter().flatten();
    all.map(|case| in_era(Era::Sessions, case.needs_first(Need::Http))).collect()
}

fn answers() -> Vec<Case> {
    let accepted = |name, claim, message: &str| {
        http(name, claim, &["MCP-HTTP-04"], Request::post(message)).right(Outcome::Accepted)
    };
    vec![
        script(
            "mcp-http-answer",
            "a request is answered with JSON or an event stream",
            &["MCP-HTTP-05"],
            ("a ping", "Content-Type: application/json or text/event-stream"),
            |bench| {
                Box::pin(media_type(bench, Request::post(PING), &["application/json", "text/event-stream"]))
            },
        )
        .rests_on("mcp-ping"),
        script(
            "mcp-http-accept-json",
            "a client that accepts only JSON is answered in JSON, or refused with 406",
            &["MCP-HTTP-02"],
            ("a ping with Accept: application/json;q=0.9", "an answer in JSON, or status 406"),
            |bench| {
                let request = Request::post(PING).accepting(Some("application/json;q=0.9"));
                Box::pin(media_type(bench, request, &["application/json"]))
            },
        )
        .should(),
        accepted(
            "mcp-http-notification",
            "a notification gets status 202 without a body",
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}"#,
        ),
        accepted(
            "mcp-http-response",
            "a response gets status 202 without a body, or is refused",
            r#"{"jsonrpc":"2.0","id":424242,"result":{}}"#,
        )
        .right(Outcome::Status(&[400, 404, 409, 422])),
        http(
            "mcp-http-get",
            "GET opens an event stream, or gets 405",
            &["MCP-HTTP-01", "MCP-HTTP-08"],
            Request::post("").by("GET").typed(None).accepting(Some("text/event-stream")),
        )
        .right(Outcome::Events)
        .right(Outcome::Status(&[405])),
    ]
}

fn sessions() -> Vec<Case> {
    let all = vec![
        script(
            "mcp-session-id",
            "the identifier of a session is visible ASCII",
            &["MCP-HTTP-12"],
            ("initialize", "Mcp-Session-Id of characters from 0x21 to 0x7e"),
            |bench| Box::pin(session_id(bench)),
        ),
        http(
            "mcp-session-missing",
            "a request without the identifier of its session gets 400",
            &["MCP-HTTP-12"],
            Request::post(PING).without(&["mcp-session-id"]),
        )
        .should()
        .right(Outcome::Status(&[400])),
        http(
            "mcp-session-unknown",
            "an unknown session gets 404",
            &["MCP-HTTP-12"],
            Request::post(PING)
                .without(&["mcp-session-id"])
                .with_lines("Mcp-Session-Id: 00000000-0000-4000-8000-000000000000\r\n"),
        )
        .right(Outcome::Status(&[404])),
        script(
            "mcp-session-deleted",
            "a session that its client deleted gets 404",
            &["MCP-HTTP-12"],
            ("initialize, DELETE, then a ping", "status 404; or 405 for DELETE"),
            |bench| Box::pin(deleted(bench)),
        ),
    ];
    all.into_iter().map(|case| case.needs(Need::SessionId)).collect()
}

fn headers() -> Vec<Case> {
    let version =
        |lines: &'static str| Request::post(PING).without(&["mcp-protocol-version"]).with_lines(lines);
    vec![
        http(
            "mcp-version-header-unknown",
            "an unknown version in the header gets 400",
            &["MCP-HTTP-13"],
            version("MCP-Protocol-Version: 1999-01-01\r\n"),
        )
        .needs(Need::Revision("2025-06-18"))
        .right(Outcome::Status(&[400])),
        http(
            "mcp-version-header-missing",
            "a request without the version header is answered",
            &["MCP-HTTP-13"],
            version(""),
        )
        .should()
        .right(value("{}", "1"))
        .rests_on("mcp-ping"),
        http(
            "mcp-origin",
            "a request from the page of another site is refused with 403",
            &["MCP-HTTP-14"],
            Request::post(PING).with_lines(FOREIGN),
        )
        .right(Outcome::Status(&[403]))
        .allowed(Outcome::Status(&[400, 401, 421])),
        http(
            "mcp-host",
            "a request for another host is refused, because the server is on this machine",
            &["MCP-SEC-01"],
            Request::post(PING).at_host(FOREIGN_HOST),
        )
        .needs(Need::Loopback)
        .should()
        .right(Outcome::Status(&[403, 421]))
        .allowed(Outcome::Status(&[400, 401, 404])),
    ]
}

/// Whether the answer has one of these media types, or status 406.
async fn media_type(bench: &mut Bench, request: Request, types: &[&str]) -> Result<String, String> {
    let came = bench.request(&request).await;
    let Some(head) = &came.head else { return Err(came.to_string()) };
    let own = head.header("content-type").unwrap_or("none").to_lowercase();
    let is_one = types.iter().any(|known| own.split(';').next().unwrap_or_default().trim() == *known);
    match head.status {
        406 if types.len() == 1 => Ok("status 406".to_owned()),
        _ if is_one => Ok(format!("Content-Type: {own}")),
        status => Err(format!("status {status}, Content-Type: {own}")),
    }
}

async fn session_id(bench: &mut Bench) -> Result<String, String> {
    let shaken = Handshake::new(bench, NEWEST).await;
    let id = shaken.session.ok_or_else(|| format!("no Mcp-Session-Id ({})", shaken.came))?;
    match id.bytes().all(|byte| byte.is_ascii_graphic()) && !id.is_empty() {
        true => Ok(format!("{} characters", id.len())),
        false => Err(format!("{id:?}")),
    }
}

async fn deleted(bench: &mut Bench) -> Result<String, String> {
    let mut shaken = Handshake::new(bench, NEWEST).await;
    let Some(id) = shaken.session.clone() else { return Err(shaken.came.to_string()) };
    let delete = Request::post("").by("DELETE").typed(None).without(SESSION);
    let came = bench.request(&delete.with_lines(format!("Mcp-Session-Id: {id}\r\n"))).await;
    match came.head.as_ref().map(|head| head.status) {
        Some(405) => return Ok("status 405 for DELETE".to_owned()),
        Some(200..=299) => {}
        _ => return Err(format!("the answer to DELETE: {came}")),
    }
    let came = shaken.ask(bench, PING).await;
    match came.head.as_ref().map(|head| head.status) {
        Some(404) => Ok(came.to_string()),
        _ => Err(format!("the answer to a ping after DELETE: {came}")),
    }
}
