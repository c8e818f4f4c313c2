//! The bare wire: bytes that no client of ours would send, over every transport.
//!
//! [`Endpoint`] opens connections; a [`Line`] carries messages in both directions; [`http`] sends requests. Callers limit the time
//! of every read, and this module its size.

pub(crate) mod deaths;
pub(crate) mod http;
pub(crate) mod http2;
pub(crate) mod line;
pub(crate) mod noise;
pub(crate) mod websocket;

use ::http::HeaderMap;
use switchboard::framing::Framing;
use switchboard::{Dial, DialError, Raw, Tap};

use crate::target::{is_http, is_websocket};

pub(crate) use deaths::Deaths;
pub(crate) use http::{Length, Request};
pub(crate) use line::{Line, Received};
pub(crate) use noise::Noise;

/// Where the server is, and which transport it uses.
#[derive(Debug)]
pub(crate) struct Endpoint {
    dial: Dial,
    /// Headers of every request and handshake.
    pub(crate) headers: HeaderMap,
    /// Whether answers may be event streams.
    pub(crate) takes_events: bool,
    /// Where lines go that cannot be messages, if they are not to be judged by every case.
    pub(crate) noise: Option<Noise>,
    /// The largest answer, in bytes.
    pub(crate) limit: usize,
    /// Shows what goes over the wire.
    pub(crate) tap: Option<Tap>,
    /// How programs that were started ended.
    pub(crate) deaths: Deaths,
}

/// The transport of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Http,
    WebSocket,
    Stream(Framing),
}

impl Endpoint {
    pub(crate) fn new(dial: Dial, headers: HeaderMap, limit: usize) -> Endpoint {
        Endpoint {
            dial,
            headers,
            takes_events: false,
            noise: None,
            limit,
            tap: None,
            deaths: Deaths::default(),
        }
    }

    pub(crate) fn carrier(&self) -> Carrier {
        let url = self.dial.url();
        let framing = |default| Framing::of(url).ok().flatten().unwrap_or(default);
        match url.scheme() {
            scheme if is_http(scheme) => Carrier::Http,
            scheme if is_websocket(scheme) => Carrier::WebSocket,
            "exec" => Carrier::Stream(framing(Framing::Lines)),
            _ => Carrier::Stream(framing(Framing::default())),
        }
    }

    /// Whether several clients can connect to the server.
    pub(crate) fn is_shared(&self) -> bool {
        self.dial.url().scheme() != "exec"
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Raw, DialError> {
        self.dial.raw().await
    }

    /// Opens a connection for HTTP/2; over TLS only if the server agrees to that.
    pub(crate) async fn open_http2(&self) -> Result<Raw, DialError> {
        self.dial.clone().with_http2().raw().await
    }

    /// Whether the URL names this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let (host, _) = self.target();
        ["localhost", "127.0.0.1", "[::1]"]
            .iter()
            .any(|name| host.strip_prefix(name).is_some_and(|port| port.is_empty() || port.starts_with(':')))
    }

    /// The URL with another scheme.
    pub(crate) fn with_scheme(&self, scheme: &str) -> String {
        match self.dial.url().place() {
            Some(place) => format!("{scheme}://{place}"),
            None => self.dial.url().to_string(),
        }
    }

    /// The host and the path of HTTP requests.
    pub(crate) fn target(&self) -> (String, String) {
        let url = self.dial.url();
        (url.place().map_or_else(|| url.to_string(), ToString::to_string), url.path_and_query().into_owned())
    }
}
