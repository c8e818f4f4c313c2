//! The options of an HTTP client.

use std::time::Duration;

use http::header::HeaderMap;
use switchboard_core::{AllowedNames, Limits, SharedSeal, Tap, Version};

use super::addresses::AllowedAddresses;
#[cfg(feature = "tls")]
use crate::tls::ClientTls;

/// The options of a [`Client`](super::Client).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpClientOptions {
    /// Headers of every request, besides `Content-Type`, `Accept` and `User-Agent`, which they may replace: none.
    pub headers: HeaderMap,
    /// How long connecting may take: 10 s.
    pub connect_time: Duration,
    /// The time limit of calls without a deadline: 60 s.
    pub call_time: Duration,
    /// How long an unused connection is kept: 30 s, less than servers commonly wait.
    pub idle_time: Duration,
    /// How long an event stream may be silent, comments included, before it is closed: 90 s.
    pub silence: Duration,
    /// Whether to use HTTP/2 from the start, which the server must support: no. All calls then share one
    /// connection.
    pub http2: bool,
    /// The version of JSON-RPC: 2.0. Version 1.0 has no batches.
    pub version: Version,
    /// The TLS configuration for `https` URLs: by default, this machine's trusted certificates are used.
    #[cfg(feature = "tls")]
    pub tls: Option<ClientTls>,
    /// Limits on responses: a body has at most [`reply`](Limits::reply) bytes and 64 KiB for the
    /// envelope, that of a batch [`batch_reply`](Limits::batch_reply).
    pub limits: Limits,
    /// Adds headers that depend on a whole request, such as its signature, and checks the responses: none by default. Calls that
    /// ask for event streams are sent without.
    pub seal: Option<SharedSeal>,
    /// Sees each request and response, heads and bodies: none by default.
    pub tap: Option<Tap>,
    /// Which metadata of a call is sent with the calls made for it, see
    /// [`Settings::inherit`](switchboard_core::Settings::inherit): `traceparent` and `tracestate`.
    pub inherit: AllowedNames,
    /// Which addresses it may connect to, after the name in the URL was resolved: all of them.
    pub addresses: Option<AllowedAddresses>,
    /// Which headers of a response are the [metadata](switchboard_core::Extra) of its replies: `retry-after` and `www-authenticate`.
    pub reply_metadata: AllowedNames,
}

impl Default for HttpClientOptions {
    fn default() -> HttpClientOptions {
        HttpClientOptions {
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
            seal: None,
            tap: None,
            inherit: AllowedNames::default(),
            addresses: None,
            reply_metadata: AllowedNames::from_iter(["retry-after", "www-authenticate"]),
        }
    }
}

impl HttpClientOptions {
    /// Sets [`headers`](HttpClientOptions::headers).
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> HttpClientOptions {
        self.headers = headers;
        self
    }

    /// Sets [`connect_time`](HttpClientOptions::connect_time).
    #[must_use]
    pub fn with_connect_time(mut self, connect_time: Duration) -> HttpClientOptions {
        self.connect_time = connect_time;
        self
    }

    /// Sets [`call_time`](HttpClientOptions::call_time).
    #[must_use]
    pub fn with_call_time(mut self, call_time: Duration) -> HttpClientOptions {
        self.call_time = call_time;
        self
    }

    /// Sets [`idle_time`](HttpClientOptions::idle_time).
    #[must_use]
    pub fn with_idle_time(mut self, idle_time: Duration) -> HttpClientOptions {
        self.idle_time = idle_time;
        self
    }

    /// Sets [`silence`](HttpClientOptions::silence).
    #[must_use]
    pub fn with_silence(mut self, silence: Duration) -> HttpClientOptions {
        self.silence = silence;
        self
    }

    /// Sets [`http2`](HttpClientOptions::http2).
    #[must_use]
    pub fn with_http2(mut self, http2: bool) -> HttpClientOptions {
        self.http2 = http2;
        self
    }

    /// Sets [`version`](HttpClientOptions::version).
    #[must_use]
    pub fn with_version(mut self, version: Version) -> HttpClientOptions {
        self.version = version;
        self
    }

    /// Sets [`tls`](HttpClientOptions::tls).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: Option<ClientTls>) -> HttpClientOptions {
        self.tls = tls;
        self
    }

    /// Sets [`limits`](HttpClientOptions::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> HttpClientOptions {
        self.limits = limits;
        self
    }

    /// Sets [`seal`](HttpClientOptions::seal).
    #[must_use]
    pub fn with_seal(mut self, seal: Option<SharedSeal>) -> HttpClientOptions {
        self.seal = seal;
        self
    }

    /// Sets [`tap`](HttpClientOptions::tap).
    #[must_use]
    pub fn with_tap(mut self, tap: Option<Tap>) -> HttpClientOptions {
        self.tap = tap;
        self
    }

    /// Sets [`inherit`](HttpClientOptions::inherit).
    #[must_use]
    pub fn with_inherit(mut self, inherit: AllowedNames) -> HttpClientOptions {
        self.inherit = inherit;
        self
    }

    /// Sets [`addresses`](HttpClientOptions::addresses).
    #[must_use]
    pub fn with_addresses(mut self, addresses: Option<AllowedAddresses>) -> HttpClientOptions {
        self.addresses = addresses;
        self
    }

    /// Sets [`reply_metadata`](HttpClientOptions::reply_metadata).
    #[must_use]
    pub fn with_reply_metadata(mut self, reply_metadata: AllowedNames) -> HttpClientOptions {
        self.reply_metadata = reply_metadata;
        self
    }
}
