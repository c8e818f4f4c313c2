//! What to do if nothing answers as a JSON-RPC server does.

use super::message::Message;
use super::outcome::{Came, End, shortened};
use super::wire::{Carrier, Endpoint};

/// What to do, judged by the answer to a valid call.
pub(crate) fn hint(endpoint: &Endpoint, came: &Came) -> String {
    let status = came.head.as_ref().map(|head| head.status);
    let location = came.head.as_ref().and_then(|head| head.header("location"));
    let is_stream = matches!(endpoint.carrier(), Carrier::Stream(_));
    let speaks_http = || came.messages.iter().map(Message::text).any(|text| text.starts_with("HTTP/"));
    let bare = match came.messages.as_slice() {
        [Message::One(value)] if !value.is_object() => Some(format!(
            "the answer is a bare value; a result has to be wrapped, as in {{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":1}}",
            shortened(&value.text, 40)
        )),
        _ => None,
    };
    match (status, location) {
        (Some(401 | 403 | 407), _) => {
            "the server requires credentials: add `--token TOKEN`, or a header with `-H 'NAME: VALUE'`".to_owned()
        }
        (Some(300..=399), Some(location)) => format!("the server redirects: check {location} instead"),
        (Some(404 | 405), _) => {
            "this path does not accept calls: JSON-RPC is often at `/rpc` or `/jsonrpc`".to_owned()
        }
        (Some(415), _) => "the server does not accept application/json: it may not be a JSON-RPC server".to_owned(),
        (Some(500..), _) => "the server, or one behind it, failed: look at its log".to_owned(),
        _ if is_stream && speaks_http() => {
            format!("that is an HTTP server: use {}", endpoint.with_scheme("http"))
        }
        _ if matches!(&came.end, End::Unsent(why) if why.contains("no HTTP")) => {
            format!("that is not an HTTP server: try {}", endpoint.with_scheme("tcp"))
        }
        _ if bare.is_some() => bare.unwrap_or_default(),
        _ if is_stream => {
            "check the framing (`?framing=json`, `lines`, `lsp` or `length`) and the profile: `--profile v1` is for \
             JSON-RPC 1.0, `lsp` and `mcp` are for servers that expect `initialize` first"
                .to_owned()
        }
        _ => "check the URL and its path, and the profile: `--profile v1` is for JSON-RPC 1.0, `mcp` for servers that \
              expect `initialize` first"
            .to_owned(),
    }
}

/// What to do if the server does not speak the Model Context Protocol.
pub(crate) fn mcp(endpoint: &Endpoint, came: &Came) -> String {
    match (endpoint.carrier(), came.head.as_ref().map(|head| head.status)) {
        (Carrier::Http, Some(300..=399 | 401 | 403 | 407 | 415 | 500..)) => hint(endpoint, came),
        (Carrier::Http, _) => "check the path of the URL: the endpoint is often `/mcp`".to_owned(),
        _ => "check that the command starts a server of the Model Context Protocol, with one message per line; \
              some need an option such as `stdio`"
            .to_owned(),
    }
}
