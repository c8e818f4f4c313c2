//! The wire as it is: bytes that no client of ours would send, over every carrier.
//!
//! [`Endpoint`] opens connections; a [`Line`] carries messages both ways; [`http`] asks and answers. Every read is bounded
//! in time by whoever asks, and in size here.

pub(crate) mod deaths;
pub(crate) mod http;
pub(crate) mod line;
pub(crate) mod websocket;

use ::http::HeaderMap;
use switchboard::framing::Framing;
use switchboard::{Dial, DialError, Raw, Tap};

use crate::target::{is_http, is_websocket};

pub(crate) use deaths::Deaths;
pub(crate) use http::{Length, Request};
pub(crate) use line::{Line, Received};

/// Where the server is, and what is spoken there.
#[derive(Debug)]
pub(crate) struct Endpoint {
    dial: Dial,
    /// Sent with every request and handshake.
    pub(crate) headers: HeaderMap,
    /// Whether answers may come as a stream of events.
    pub(crate) takes_events: bool,
    /// The most bytes that an answer may have.
    pub(crate) limit: usize,
    /// Shows what goes over the wire.
    pub(crate) tap: Option<Tap>,
    /// How programs that were started ended.
    pub(crate) deaths: Deaths,
}

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Http,
    WebSocket,
    Stream(Framing),
}

impl Endpoint {
    pub(crate) fn new(dial: Dial, headers: HeaderMap, limit: usize) -> Endpoint {
        Endpoint { dial, headers, takes_events: false, limit, tap: None, deaths: Deaths::default() }
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

    /// Whether others can connect to the same server.
    pub(crate) fn is_shared(&self) -> bool {
        self.dial.url().scheme() != "exec"
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Raw, DialError> {
        self.dial.raw().await
    }

    /// The URL of the same place, with another carrier.
    pub(crate) fn with_scheme(&self, scheme: &str) -> String {
        match self.dial.url().place() {
            Some(place) => format!("{scheme}://{place}"),
            None => self.dial.url().to_string(),
        }
    }

    /// The host and the path that HTTP asks for.
    pub(crate) fn target(&self) -> (String, String) {
        let url = self.dial.url();
        (url.place().map_or_else(|| url.to_string(), ToString::to_string), url.path_and_query().into_owned())
    }
}
