//! The wire as it is: bytes that no client of ours would send, over every carrier.
//!
//! [`Endpoint`] opens connections; a [`Line`] carries messages both ways; [`http`] asks and answers. Every read is bounded
//! in time by whoever asks, and in size here.

pub(crate) mod deaths;
pub(crate) mod http;
pub(crate) mod line;
pub(crate) mod websocket;

use ::http::HeaderMap;
use switchboard::address::{Address, Scheme};
use switchboard::framing::Framing;
use switchboard::{Dial, DialError, Raw, Tap};

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
        let parse = |framing: &Option<String>, default: Framing| {
            framing.as_deref().and_then(|name| name.parse().ok()).unwrap_or(default)
        };
        match self.dial.address() {
            Address::Web { scheme: Scheme::Ws | Scheme::Wss, .. } => Carrier::WebSocket,
            Address::Socket { framing, .. } | Address::Unix { framing, .. } => {
                Carrier::Stream(parse(framing, Framing::default()))
            }
            Address::Exec { framing, .. } | Address::Stdio { framing } => {
                Carrier::Stream(parse(framing, Framing::Lines))
            }
            _ => Carrier::Http,
        }
    }

    /// Whether others can connect to the same server.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self.dial.address(), Address::Exec { .. })
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Raw, DialError> {
        self.dial.raw().await
    }

    /// The URL of the same place, with another carrier.
    pub(crate) fn with_scheme(&self, scheme: &str) -> String {
        match self.dial.address() {
            Address::Web { place, .. } | Address::Socket { place, .. } => format!("{scheme}://{place}"),
            other => other.to_string(),
        }
    }

    /// The host and the path that HTTP asks for.
    pub(crate) fn target(&self) -> (String, String) {
        match self.dial.address() {
            Address::Web { place, path, .. } => (place.to_string(), path.clone()),
            other => (other.to_string(), "/".to_owned()),
        }
    }
}
