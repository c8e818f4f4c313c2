//! The transport of 2024-11-05: an event stream for what the server sends, and a path for what the client sends (MCP-SSE-01 to
//! MCP-SSE-04). It is a duplex connection, so the engine does the rest.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use switchboard_core::{
    CallError, Connection, Engine, FrameSink as _, FrameSource as _, Origin, Peer, Service,
};
use switchboard_transport::http::ResponseBody;
use switchboard_transport::memory::{self, MemorySink, MemorySource};
use switchboard_transport::{Dial, running};

use super::http::Sender;
use super::{Credentials, HANDSHAKE};
use crate::server::Server;

/// How many bytes wait in each direction.
const WAITING: usize = 1 << 20;

/// How long the server may be silent.
const SILENCE: Duration = Duration::from_secs(300);

/// How long the server may take to accept a message.
const TIME: Duration = Duration::from_secs(60);

/// Connects to the event stream at this URL.
pub(super) async fn connect(
    dial: Dial,
    credentials: Option<Arc<dyn Credentials>>,
    service: Arc<dyn Service>,
) -> Result<Peer, CallError> {
    let base = dial.url().to_string();
    // The requests and the event stream are shown to the tap; the messages are the same.
    let settings = dial.settings().clone().with_profile(Server::profile()).with_tap(None);
    let sender = Sender::new(&dial, credentials.clone())?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let response = sender.send(Method::GET, &headers, Bytes::new(), HANDSHAKE, None).await?;
    if !response.status().is_success() {
        return Err(CallError::Transport(
            format!("the server answered with HTTP {}", response.status()).into(),
        ));
    }
    let mut body = response.into_body();
    let first = tokio::time::timeout(HANDSHAKE, body.event(HANDSHAKE)).await;
    let first = first.map_err(|_| CallError::TimedOut)??.filter(|event| event.name == "endpoint");
    let endpoint = first.and_then(|event| resolve(&base, event.data.trim()));
    let endpoint = endpoint.ok_or_else(|| {
        CallError::Protocol("the event stream does not begin with an endpoint of the same server".into())
    })?;
    let posts = Sender::new(&dial.with_url(&endpoint)?, credentials)?;
    let (near, (source, sink)) = memory::pair(WAITING);
    let engine = Engine::new(service, settings);
    let (_, connection) = Connection::new(near.0, near.1, engine, Origin::new("sse"));
    let peer = running::run(connection);
    // It ends with the connection, which ends with it.
    tokio::spawn(async move {
        let ended = tokio::select! {
            ended = receive(body, sink) => ended,
            ended = send(posts, source) => ended,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "the event stream of an MCP server ended");
        }
    });
    Ok(peer)
}

/// Passes on what the server sends.
async fn receive(mut body: ResponseBody, mut sink: MemorySink) -> Result<(), CallError> {
    while let Some(event) = body.event(SILENCE).await? {
        if event.name == "message" {
            sink.push(event.data.as_bytes());
            let sent = poll_fn(|cx| sink.poll_flush(cx)).await;
            sent.map_err(|error| CallError::Closed(error.to_string().into()))?;
        }
    }
    Ok(())
}

/// Sends what the client has to say, one message after the other.
async fn send(posts: Sender, mut source: MemorySource) -> Result<(), CallError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    while let Some(frame) = poll_fn(|cx| source.poll_frame(cx)).await {
        let frame = frame.map_err(|error| CallError::Closed(error.to_string().into()))?;
        let response = posts.send(Method::POST, &headers, frame, TIME, None).await?;
        if !response.status().is_success() {
            let text = format!("the server answered a message with HTTP {}", response.status());
            return Err(CallError::Transport(text.into()));
        }
    }
    Ok(())
}

/// The URL of an endpoint, if it belongs to the server of the event stream (MCP-SSE-04).
fn resolve(base: &str, endpoint: &str) -> Option<String> {
    let base: Uri = base.parse().ok()?;
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    if endpoint.contains("://") {
        let there: Uri = endpoint.parse().ok()?;
        let is_same = there.scheme_str() == Some(scheme) && there.authority() == Some(authority);
        return is_same.then(|| endpoint.to_owned());
    }
    if endpoint.is_empty() || endpoint.starts_with("//") || endpoint.starts_with('\\') {
        return None;
    }
    let path = match endpoint.starts_with('/') {
        true => endpoint.to_owned(),
        false => format!("{}/{endpoint}", base.path().rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    let url = format!("{scheme}://{authority}{path}");
    url.parse::<Uri>().ok().map(|_| url)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-SSE-02, MCP-SSE-04
    #[test]
    fn the_endpoint_is_on_the_same_server() {
        let check = |endpoint: &str, expected: Option<&str>| {
            assert_eq!(resolve("http://a:1/mcp/sse", endpoint).as_deref(), expected, "{endpoint}");
        };
        check("/messages?session=5", Some("http://a:1/messages?session=5"));
        check("messages", Some("http://a:1/mcp/messages"));
        check("http://a:1/m", Some("http://a:1/m"));
        for other in
            ["http://b:1/m", "https://a:1/m", "http://a:2/m", "//b/m", "http://a:1@b/m", "", "\\\\b\\m"]
        {
            check(other, None);
        }
    }
}
