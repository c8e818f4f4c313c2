//! How a client of HTTP calls.

use std::time::Duration;

use http::header::HeaderMap;
use switchboard_core::{AllowedNames, Limits, Tap, Version};

#[cfg(feature = "tls")]
use crate::tls::ClientTls;

/// How a [`Client`](super::Client) calls.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Headers of every request, besides `Content-Type`, `Accept` and `User-Agent`, which they may replace: none.
    pub headers: HeaderMap,
    /// How long connecting may take: 10 s.
    pub connect_time: Duration,
    /// How long a call may take that has no deadline of its own: 60 s.
    pub call_time: Duration,
    /// How long a connection is kept without being used: 30 s, less than servers commonly wait.
    pub idle_time: Duration,
    /// How long an event stream may be silent, comments included, before it is given up: 90 s.
    pub silence: Duration,
    /// Whether to speak HTTP/2 from the start, which the server must understand: no. All calls share one connection
    /// then.
    pub http2: bool,
    /// The version of JSON-RPC to call in: 2.0. Version 1.0 has no batches.
    pub version: Version,
    /// How TLS is spoken where the URL is `https`: this machine's trusted certificates decide about the server's.
    #[cfg(feature = "tls")]
    pub tls: Option<ClientTls>,
    /// What is taken from the far side: a body has at most [`reply`](Limits::reply) bytes and 64 KiB for what is around
    /// it, that of a batch [`batch_reply`](Limits::batch_reply).
    pub limits: Limits,
    /// Who sees each request and response, heads and bodies: nobody.
    pub tap: Option<Tap>,
    /// Which metadata of a call goes on with those that are made for it, see
    /// [`Settings::inherit`](switchboard_core::Settings::inherit): `traceparent` and `tracestate`.
    pub inherit: AllowedNames,
    /// Which headers of a response are the [metadata](switchboard_core::Extra) of its replies: `retry-after` and `www-authenticate`.
    pub reply_metadata: AllowedNames,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            headers: HeaderMap::new(),
            connect_time: Duration::from_secs(10),
            call_time: Duration::from_secs(60),
            idle_time: Duration::from_secs(30),
            silence: Duration::from_secs(90),
            http2: false,
            version: Version::V2,
            #[cfg(feature = "tls")]
            tls: None,
            limits: Limits::default(),
            tap: None,
            inherit: AllowedNames::default(),
            reply_metadata: AllowedNames::from_iter(["retry-after", "www-authenticate"]),
        }
    }
}
