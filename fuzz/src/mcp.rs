//! Posts any bytes to an MCP server, behind headers that are taken from them too, with a session and without: every answer is
//! a response of the protocol, and a state that the server did not seal is never accepted.

#![no_main]

use std::convert::Infallible;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use switchboard_core::{ErrorObject, Json, Method, MethodDescription, Router};
use switchboard_mcp::model::{Contents, Resource};
use switchboard_mcp::{Caller, McpRoute, Server};
use switchboard_transport::http::{Body, Endpoint, EndpointOptions};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service as _;

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime can be built");
}

/// A server with a tool that asks, a tool with a header, a template and a resource.
static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let ask = Method::future("ask", |_: Option<Json>, cx: switchboard_core::Context| async move {
        let caller = cx.get::<Caller>().cloned().expect("the server attaches it");
        caller.elicit::<bool>("Go on?").await.map_err(ErrorObject::from)?;
        Ok::<_, ErrorObject>("accepted")
    });
    let echo = Method::sync("echo", |value: Option<Json>, _| Ok::<_, ErrorObject>(value)).described(|_| {
        MethodDescription::documented("Echoes.").extension(
            "x-mcp-input-schema",
            serde_json::json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}),
        )
    });
    let item = Method::sync("item", |value: Option<Json>, _| Ok::<_, ErrorObject>(value)).described(|_| {
        MethodDescription::documented("An item.")
            .extension("x-mcp", serde_json::json!({"resource": "a://{x}/{+y}"}))
    });
    let router = Router::builder().add(ask).add(echo).add(item).build().expect("the names differ");
    let server = Server::new(router).resource(Resource::new("a://b", "b"), Contents::text("a://b", "b"));
    let route = McpRoute::new(&server).expect("the names differ");
    let options = EndpointOptions::default().with_paths(Vec::new()).route("/mcp", route);
    Endpoint::new(Router::builder().build().expect("it is empty")).with_options(options)
});

fuzz_target!(|bytes: &[u8]| {
    // Lines before the first empty one are headers, the rest is the body.
    let (head, body) = match bytes.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&bytes[..at], &bytes[at + 2..]),
        None => (&b""[..], bytes),
    };
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for line in head.split(|byte| *byte == b'\n').take(8) {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default());
        if let (Ok(name), Ok(value)) = (http::HeaderName::from_bytes(name), value) {
            request = request.header(name, value);
        }
    }
    let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) else { return };
    let text = RUNTIME.with(|runtime| runtime.block_on(answer(request)));
    for message in messages(&text) {
        let message: serde_json::Value = serde_json::from_slice(message).expect("a message is JSON");
        let text = &message["result"]["content"][0]["text"];
        assert!(text != "accepted", "an answer was accepted that no user gave");
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(
            message.get("result").is_some() != message.get("error").is_some()
                || message.get("method").is_some()
        );
    }
});

async fn answer(request: Request<Full<Bytes>>) -> Bytes {
    let response: Result<Response<Body>, Infallible> = ENDPOINT.clone().call(request).await;
    let Ok(response) = response;
    // A stream of changes has no end of its own.
    let whole =
        tokio::time::timeout(std::time::Duration::from_secs(60), response.into_body().collect()).await;
    whole.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default()
}

/// The messages of a body: one, or those of its events.
fn messages(text: &[u8]) -> Vec<&[u8]> {
    if text.starts_with(b"{") || text.starts_with(b"[") {
        return vec![text];
    }
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.strip_prefix(b"data: ")).filter(|data| !data.is_empty()).collect()
}
