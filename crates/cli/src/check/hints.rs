//! What to do where nobody answers as a JSON-RPC server.

use super::message::Message;
use super::outcome::{Came, End};
use super::wire::{Carrier, Endpoint};

/// What to do, seen by what a good call brought.
pub(crate) fn hint(endpoint: &Endpoint, came: &Came) -> String {
    let status = came.head.as_ref().map(|head| head.status);
    let location = came.head.as_ref().and_then(|head| head.header("location"));
    let is_stream = matches!(endpoint.carrier(), Carrier::Stream(_));
    let speaks_http = || came.messages.iter().map(Message::text).any(|text| text.starts_with("HTTP/"));
    match (status, location) {
        (Some(401 | 403 | 407), _) => {
            "it wants to know who calls: give `--token TOKEN`, or a header with `-H 'NAME: VALUE'`".to_owned()
        }
        (Some(300..=399), Some(location)) => format!("it sends callers elsewhere: check {location} instead"),
        (Some(404 | 405), _) => {
            "nothing is called at this path: JSON-RPC is often at `/rpc` or `/jsonrpc`".to_owned()
        }
        (Some(415), _) => "it takes another media type: it may be no JSON-RPC server".to_owned(),
        (Some(500..), _) => "the server fails, or what is behind it does: look at its log".to_owned(),
        _ if is_stream && speaks_http() => {
            format!("HTTP is spoken there: use {}", endpoint.with_scheme("http"))
        }
        _ if matches!(&came.end, End::Unsent(why) if why.contains("no HTTP")) => {
            format!("something else is spoken there: try {}", endpoint.with_scheme("tcp"))
        }
        _ if is_stream => {
            "check the framing (`?framing=json`, `lines`, `lsp` or `length`); `--profile v1` is for servers of 1.0, \
             `lsp` and `mcp` for those that want to be greeted"
                .to_owned()
        }
        _ => "check the URL and its path; `--profile v1` is for servers of 1.0, `mcp` for those that want to be \
              greeted"
            .to_owned(),
    }
}
