//! Stateless requests: what they have to name, headers that repeat it, and what results contain.

use serde_json::Value;
use tokio::time::timeout;

use super::features::{of_both, undeclared};
use super::http::{FOREIGN, FOREIGN_HOST};
use super::{DISCOVER, in_era, result, shapes};
use crate::check::bench::Bench;
use crate::check::case::{Case, Need, case, http, script};
use crate::check::era::{Era, META, only_response, request, routing};
use crate::check::outcome::{Outcome, error, result as any_result, shaped};
use crate::check::profile::Point;
use crate::check::wire::{Carrier, Received, Request, http as wire};

/// The headers of a valid call of `server/discover`.
const HEADERS: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";
/// A call of a tool that does not exist.
const CALL: &str = r#""name":"@none","arguments":{}"#;
/// Its name, as a header has it that needs an encoding.
const ENCODED: &str = "Mcp-Name: =?base64?c3dpdGNoYm9hcmRfY2hlY2tfbm9fc3VjaF9tZXRob2Q=?=\r\n";
const CALL_HEADERS: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n";

/// The cases.
pub(in crate::check::cases) fn cases() -> Vec<Case> {
    let all =
        [envelope(), methods(), results(), of_both(Era::Stateless), listening(), headers(), over_http()];
    all.into_iter().flatten().map(|case| in_era(Era::Stateless, case)).collect()
}

/// A call of `server/discover` with this in place of the usual `_meta`.
fn discover(meta: &str) -> String {
    let meta = if meta.is_empty() { String::new() } else { format!(r#""_meta":{{{meta}}}"#) };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}"#)
}

fn envelope() -> Vec<Case> {
    let refused = |name, claim, meta| {
        http(name, claim, &["MCP-M-02", "MCP-M-03"], Request::post(discover(meta)).with_lines(HEADERS))
            .right(Outcome::Refused(400, error(&[-32602], "1")))
    };
    vec![
        case(
            DISCOVER,
            "`server/discover` returns versions and capabilities",
            &["MCP-D-01", "MCP-M-09"],
            request("server/discover", ""),
        )
        .right(shaped("with supportedVersions and capabilities", shapes::discovered, "1")),
        refused("stateless-no-meta", "a request without `_meta` is refused", ""),
        refused(
            "stateless-no-version",
            "a request without its version in `_meta` is refused",
            r#""io.modelcontextprotocol/clientCapabilities":{}"#,
        ),
        case(
            "stateless-no-capabilities",
            "a request without the capabilities of its client is refused",
            &["MCP-M-02", "MCP-M-03"],
            discover(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#),
        )
        .right(Outcome::Refused(400, error(&[-32602], "1"))),
        case(
            "stateless-no-client-info",
            "a request need not name its client",
            &["MCP-M-03"],
            discover(
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#,
            ),
        )
        .right(any_result("1")),
        script(
            "stateless-version-unknown",
            "an unknown version gets -32022 with the versions that are supported",
            &["MCP-M-05", "MCP-N-09"],
            ("server/discover in the version 1999-01-01", "error -32022 with data.supported and data.requested; over HTTP status 400"),
            |bench| Box::pin(unknown_version(bench)),
        ),
    ]
}

fn methods() -> Vec<Case> {
    let missing = || Outcome::Refused(404, error(&[-32601], "1"));
    let removed = |name, claim, method, params| {
        case(name, claim, &["MCP-N-09"], request(method, params))
            .right(missing())
            .like("stateless-method-unknown")
    };
    vec![
        case(
            "stateless-method-unknown",
            "an unknown method gets -32601",
            &["MCP-N-09", "J2-34"],
            request("@none", ""),
        )
        .right(missing()),
        removed("stateless-ping", "`ping` no longer exists", "ping", ""),
        removed(
            "stateless-set-level",
            "`logging/setLevel` no longer exists",
            "logging/setLevel",
            r#""level":"info""#,
        ),
        removed(
            "stateless-subscribe",
            "`resources/subscribe` no longer exists",
            "resources/subscribe",
            r#""uri":"switchboard-check://no/such/resource""#,
        ),
        script(
            "stateless-undeclared",
            "methods of capabilities that are not declared do not exist",
            &["MCP-M-11"],
            ("a call for each capability that the server does not declare", "error -32601"),
            |bench| Box::pin(undeclared(bench)),
        ),
        case(
            "stateless-notification",
            "a notification is not answered",
            &["MCP-N-04", "MCP-B-04"],
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{{META},"requestId":424242}}}}"#),
        )
        .right(Outcome::Accepted)
        .right(Outcome::Status(&[400, 404])),
        case(
            "stateless-batch",
            "a batch is refused",
            &["MCP-N-03"],
            format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}]"#),
        )
        .should()
        .right(error(&[-32600, -32700], "null"))
        .right(Outcome::Status(&[400]))
        .common(Point::Silence, Outcome::Nothing),
    ]
}

/// The methods whose results can be looked at, with their capabilities.
const LISTS: [(&str, &str); 5] = [
    ("", "server/discover"),
    ("tools", "tools/list"),
    ("resources", "resources/list"),
    ("resources", "resources/templates/list"),
    ("prompts", "prompts/list"),
];

fn results() -> Vec<Case> {
    vec![
        script(
            "stateless-result-type",
            "every result has a resultType",
            &["MCP-M-06"],
            ("server/discover and the lists of all capabilities", "\"resultType\":\"complete\""),
            |bench| {
                Box::pin(every_result(bench, |result| {
                    match result.get("resultType").and_then(Value::as_str) {
                        Some("complete") => Ok(()),
                        _ => Err("resultType is not \"complete\"".to_owned()),
                    }
                }))
            },
        ),
        script(
            "stateless-cache-hints",
            "lists say how long they may be cached, and by whom",
            &["MCP-K-01"],
            ("server/discover and the lists of all capabilities", "ttlMs and cacheScope"),
            |bench| Box::pin(every_result(bench, shapes::cache_hints)),
        ),
        script(
            "stateless-server-info",
            "every result names the server",
            &["MCP-M-07"],
            (
                "server/discover and the lists of all capabilities",
                "io.modelcontextprotocol/serverInfo in _meta",
            ),
            |bench| {
                Box::pin(every_result(bench, |result| {
                    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
                    match info["name"].is_string() && info["version"].is_string() {
                        true => Ok(()),
                        false => Err("_meta has no serverInfo with a name and a version".to_owned()),
                    }
                }))
            },
        )
        .should(),
        script(
            "stateless-same-list",
            "`tools/list` does not depend on the connection",
            &["MCP-T-09", "MCP-M-01"],
            ("tools/list on two connections", "the same tools in the same order"),
            |bench| Box::pin(same_list(bench)),
        )
        .needs(Need::Capability("tools")),
    ]
}

fn listening() -> Vec<Case> {
    vec![
        script(
            "stateless-listen",
            "a subscription is acknowledged before anything else",
            &["MCP-U-02"],
            (
                "subscriptions/listen for changes of the lists",
                "notifications/subscriptions/acknowledged with the subscriptionId",
            ),
            |bench| Box::pin(listen(bench)),
        ),
        case(
            "stateless-listen-empty",
            "a subscription that does not say what it is for is refused",
            &["MCP-U-01"],
            request("subscriptions/listen", ""),
        )
        .right(error(&[-32602], "1")),
    ]
}

fn headers() -> Vec<Case> {
    let call = || request("tools/call", CALL);
    let refused = |name, claim, body: String, lines: &'static str| {
        http(name, claim, &["MCP-N-07", "MCP-N-08"], Request::post(body).with_lines(lines))
            .right(Outcome::Refused(400, error(&[-32020], "1")))
    };
    let discover = || request("server/discover", "");
    vec![
        refused(
            "stateless-version-header-missing",
            "a request without the version header is refused",
            discover(),
            "Mcp-Method: server/discover\r\n",
        )
        // Servers of older revisions may take it for one of those.
        .allowed(Outcome::Status(&[400])),
        refused(
            "stateless-version-header-differs",
            "a version header that differs from `_meta` is refused",
            discover(),
            "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: server/discover\r\n",
        ),
        refused(
            "stateless-method-header-missing",
            "a request without `Mcp-Method` is refused",
            discover(),
            "MCP-Protocol-Version: 2026-07-28\r\n",
        ),
        refused(
            "stateless-method-header-differs",
            "an `Mcp-Method` that differs from the method is refused",
            discover(),
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n",
        ),
        refused(
            "stateless-name-header-missing",
            "a call without `Mcp-Name` is refused",
            call(),
            CALL_HEADERS,
        )
        .needs(Need::Capability("tools")),
        refused(
            "stateless-name-header-differs",
            "an `Mcp-Name` that differs from the name is refused",
            call(),
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: another\r\n",
        )
        .needs(Need::Capability("tools")),
        script(
            "stateless-name-header-encoded",
            "an `Mcp-Name` in Base64 is decoded before it is compared",
            &["MCP-N-13"],
            ("a call of an unknown tool with its name in Base64", "an answer other than -32020"),
            |bench| Box::pin(encoded(bench)),
        )
        .needs(Need::Capability("tools")),
    ]
    .into_iter()
    .map(|case| case.needs_first(Need::Http))
    .collect()
}

fn over_http() -> Vec<Case> {
    let post = || Request::post(request("server/discover", "")).with_lines(HEADERS);
    let not_allowed = |name, claim, method| {
        http(
            name,
            claim,
            &["MCP-N-01"],
            Request::post("").by(method).typed(None).accepting(Some("text/event-stream")),
        )
        .should()
        .right(Outcome::Status(&[405]))
        // A server that also has sessions takes it for a request of one.
        .allowed(Outcome::Status(&[400, 404, 406]))
    };
    let with = |lines: &'static str| post().with_lines(format!("{HEADERS}{lines}"));
    vec![
        not_allowed("stateless-get", "GET gets 405", "GET"),
        not_allowed("stateless-delete", "DELETE gets 405", "DELETE"),
        script(
            "stateless-session-ignored",
            "`Mcp-Session-Id` is ignored, and not sent back",
            &["MCP-N-01"],
            ("server/discover with Mcp-Session-Id", "a result, without Mcp-Session-Id"),
            |bench| Box::pin(session_ignored(bench)),
        )
        .needs(Need::Http),
        http(
            "stateless-origin",
            "a request from the page of another site is refused with 403",
            &["MCP-N-02"],
            with(FOREIGN),
        )
        .right(Outcome::Status(&[403])),
        http(
            "stateless-host",
            "a request for another host is refused, because the server is on this machine",
            &["MCP-SEC-01"],
            post().at_host(FOREIGN_HOST),
        )
        .needs(Need::Loopback)
        .should()
        .right(Outcome::Status(&[403, 421]))
        .allowed(Outcome::Status(&[400, 401, 404])),
    ]
}

async fn unknown_version(bench: &mut Bench) -> Result<String, String> {
    let message = discover(
        r#""io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}"#,
    );
    let came = bench.ask(message.as_bytes(), 1).await;
    let error =
        only_response(&came).and_then(|response| response.value.get("error")).cloned().unwrap_or_default();
    let has_versions = error["data"]["supported"].as_array().is_some_and(|versions| !versions.is_empty());
    let is_right = error["code"] == -32022 && has_versions && error["data"]["requested"] == "1999-01-01";
    let has_status = came.head.as_ref().is_none_or(|head| head.status == 400);
    if is_right && has_status { Ok(came.to_string()) } else { Err(came.to_string()) }
}

/// Looks at the results of all lists.
async fn every_result(bench: &mut Bench, shape: fn(&Value) -> Result<(), String>) -> Result<String, String> {
    let mut count = 0;
    for (capability, method) in LISTS {
        if capability.is_empty() || bench.side().is_some_and(|side| side.declares(capability)) {
            let result = result(bench, method, "").await?;
            shape(&result).map_err(|why| format!("{method}: {why}"))?;
            count += 1;
        }
    }
    Ok(format!("{count} results"))
}

async fn same_list(bench: &mut Bench) -> Result<String, String> {
    let first = result(bench, "tools/list", "").await?;
    bench.hang_up();
    let second = result(bench, "tools/list", "").await?;
    match first["tools"] == second["tools"] {
        true => Ok("the same list".to_owned()),
        false => Err("the lists differ".to_owned()),
    }
}

async fn listen(bench: &mut Bench) -> Result<String, String> {
    let message = bench
        .fill(request("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#).as_bytes());
    let text = if bench.carrier() == Carrier::Http {
        let request = Request::post(&message).with_lines(routing(&message));
        let first = timeout(bench.timeout, wire::first_event(&bench.endpoint, &request)).await;
        let (_, event) = first.map_err(|_| "no event in time".to_owned())??;
        let event = String::from_utf8_lossy(&event).into_owned();
        event.lines().filter_map(|line| line.strip_prefix("data:")).collect::<String>()
    } else {
        let mut line = bench.open_bare().await?;
        line.send(&message).await.map_err(|error| error.to_string())?;
        match timeout(bench.patience(), line.receive()).await {
            Ok(Received::Message(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => return Err("no message in time".to_owned()),
        }
    };
    let first: Value = serde_json::from_str(text.trim()).unwrap_or_default();
    let id = &first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    let is_first = first["method"] == "notifications/subscriptions/acknowledged";
    match is_first && *id == 1 && first["params"]["notifications"].is_object() {
        true => Ok(text),
        false => Err(format!("the first message is {text}")),
    }
}

async fn encoded(bench: &mut Bench) -> Result<String, String> {
    let body = bench.fill(request("tools/call", CALL).as_bytes());
    let came = bench.request(&Request::post(body).with_lines(format!("{CALL_HEADERS}{ENCODED}"))).await;
    match only_response(&came) {
        Some(response) if response.code() != Some(-32020) => Ok(came.to_string()),
        _ => Err(came.to_string()),
    }
}

async fn session_ignored(bench: &mut Bench) -> Result<String, String> {
    let body = bench.fill(request("server/discover", "").as_bytes());
    let lines = format!("{HEADERS}Mcp-Session-Id: switchboard-check\r\n");
    let came = bench.request(&Request::post(body).with_lines(lines)).await;
    let echoed = came.head.as_ref().and_then(|head| head.header("mcp-session-id"));
    match (only_response(&came), echoed) {
        (Some(response), None) if !response.is_error() => Ok(came.to_string()),
        (_, Some(id)) => Err(format!("Mcp-Session-Id: {id}")),
        _ => Err(came.to_string()),
    }
}
