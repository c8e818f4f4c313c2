//! The options of an endpoint.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{self, HeaderName};
use switchboard_core::Code;

use super::cors::Cors;
use super::guard::{Hosts, Origins};
use super::routes::{Get, Route, Routes, StreamRoute};

/// The options of an [`Endpoint`](super::Endpoint).
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{Cors, EndpointOptions, Origins};
///
/// let options = EndpointOptions::default()
///     .with_origins(Origins::only(["https://app.example.com"])?)
///     .with_cors(Some(Cors::default()));
/// # Ok::<(), switchboard_transport::http::GuardError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// The paths that serve calls: `/`, `/rpc` and `/jsonrpc`. An empty list means every path.
    pub paths: Vec<String>,
    /// Routes at other paths: a [`StreamRoute`] at `/rpc/stream`. Add more with [`route`](EndpointOptions::route).
    pub routes: Routes,
    /// The methods that can be called with GET, at the path of a [`StreamRoute`]: none. Methods marked as safe can be allowed.
    pub get: Get,
    /// How long an event stream is silent before a keep-alive comment is sent: 15 s. Must be less than
    /// [`idle_time`](crate::server::ServerOptions::idle_time), after which a silent connection is closed.
    pub keep_alive: Option<Duration>,
    /// The status when there is no response, because the request had only notifications: 204. Some clients want 202, and
    /// some old ones 200 (JH-23).
    pub nothing_status: StatusCode,
    /// The status of a failed call: always 200.
    pub status: StatusMapping,
    /// Which names of a reply's [metadata](switchboard_core::Extra) become headers of the response: `retry-after` and
    /// `www-authenticate`. Others are dropped: a backend must not set cookies of the server in front of it. A reply may also set
    /// a status, which takes precedence over [`status`](EndpointOptions::status).
    pub reply_headers: Vec<HeaderName>,
    /// The allowed values of `Host`: those of this machine if the server listens on a loopback address,
    /// network addresses and `localhost` elsewhere.
    pub hosts: Hosts,
    /// The allowed values of `Origin`: that of the server itself.
    pub origins: Origins,
    /// What pages of other sites may do, if their origin is allowed: nothing. Without this, browsers block them.
    pub cors: Option<Cors>,
    /// How long a body may take to arrive: 30 s (SEC-H-05).
    pub body_time: Duration,
    /// Bytes of all bodies and messages together that are longer than 64 KiB, if this is mounted into another
    /// server: 256 MiB. Our own server has [`ServerOptions::buffers`](crate::server::ServerOptions::buffers) for everything
    /// that it serves.
    pub buffers: usize,
    /// The options of WebSockets, for requests that ask for an upgrade on the paths above, at `/rpc/ws` and at `/ws`: the
    /// defaults. With `None` they are rejected like any GET.
    #[cfg(feature = "ws")]
    pub websocket: Option<crate::ws::WebSocketOptions>,
}

/// The HTTP status of a response object (JH-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusMapping {
    /// 200, whatever the outcome of the call. With other statuses most clients lose the error object.
    #[default]
    AlwaysOk,
    /// The mapping of the 2008 draft for single calls: 400 for invalid requests, 404 for unknown methods, 500 for
    /// every other error; invalid JSON is 400 here, though 500 in the draft (JH-03, JH-24). Batches are 200.
    Draft2008,
}

impl StatusMapping {
    pub(super) fn status(self, error: Option<Code>) -> StatusCode {
        match (self, error) {
            (StatusMapping::AlwaysOk, _) | (_, None) => StatusCode::OK,
            (_, Some(Code::PARSE_ERROR | Code::INVALID_REQUEST)) => StatusCode::BAD_REQUEST,
            (_, Some(Code::METHOD_NOT_FOUND)) => StatusCode::NOT_FOUND,
            (_, Some(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Default for EndpointOptions {
    fn default() -> EndpointOptions {
        EndpointOptions {
            paths: ["/", "/rpc", "/jsonrpc"].map(str::to_owned).to_vec(),
            routes: Routes::default(),
            get: Get::default(),
            keep_alive: Some(Duration::from_secs(15)),
            nothing_status: StatusCode::NO_CONTENT,
            status: StatusMapping::default(),
            reply_headers: vec![
                header::RETRY_AFTER,
                header::WWW_AUTHENTICATE,
                HeaderName::from_static("accept-signature"),
            ],
            hosts: Hosts::default(),
            origins: Origins::default(),
            cors: None,
            body_time: Duration::from_secs(30),
            buffers: 256 << 20,
            #[cfg(feature = "ws")]
            websocket: Some(crate::ws::WebSocketOptions::default()),
        }
        .route("/rpc/stream", StreamRoute)
    }
}

impl EndpointOptions {
    /// Sets [`paths`](EndpointOptions::paths).
    #[must_use]
    pub fn with_paths(mut self, paths: Vec<String>) -> EndpointOptions {
        self.paths = paths;
        self
    }

    /// Sets [`routes`](EndpointOptions::routes).
    #[must_use]
    pub fn with_routes(mut self, routes: Routes) -> EndpointOptions {
        self.routes = routes;
        self
    }

    /// Sets [`get`](EndpointOptions::get).
    #[must_use]
    pub fn with_get(mut self, get: Get) -> EndpointOptions {
        self.get = get;
        self
    }

    /// Sets [`keep_alive`](EndpointOptions::keep_alive).
    #[must_use]
    pub fn with_keep_alive(mut self, keep_alive: Option<Duration>) -> EndpointOptions {
        self.keep_alive = keep_alive;
        self
    }

    /// Sets [`nothing_status`](EndpointOptions::nothing_status).
    #[must_use]
    pub fn with_nothing_status(mut self, nothing_status: StatusCode) -> EndpointOptions {
        self.nothing_status = nothing_status;
        self
    }

    /// Sets [`status`](EndpointOptions::status).
    #[must_use]
    pub fn with_status(mut self, status: StatusMapping) -> EndpointOptions {
        self.status = status;
        self
    }

    /// Sets [`reply_headers`](EndpointOptions::reply_headers).
    #[must_use]
    pub fn with_reply_headers(mut self, reply_headers: Vec<HeaderName>) -> EndpointOptions {
        self.reply_headers = reply_headers;
        self
    }

    /// Sets [`hosts`](EndpointOptions::hosts).
    #[must_use]
    pub fn with_hosts(mut self, hosts: Hosts) -> EndpointOptions {
        self.hosts = hosts;
        self
    }

    /// Sets [`origins`](EndpointOptions::origins).
    #[must_use]
    pub fn with_origins(mut self, origins: Origins) -> EndpointOptions {
        self.origins = origins;
        self
    }

    /// Sets [`cors`](EndpointOptions::cors).
    #[must_use]
    pub fn with_cors(mut self, cors: Option<Cors>) -> EndpointOptions {
        self.cors = cors;
        self
    }

    /// Sets [`body_time`](EndpointOptions::body_time).
    #[must_use]
    pub fn with_body_time(mut self, body_time: Duration) -> EndpointOptions {
        self.body_time = body_time;
        self
    }

    /// Sets [`buffers`](EndpointOptions::buffers).
    #[must_use]
    pub fn with_buffers(mut self, buffers: usize) -> EndpointOptions {
        self.buffers = buffers;
        self
    }

    /// Sets [`websocket`](EndpointOptions::websocket).
    #[cfg(feature = "ws")]
    #[must_use]
    pub fn with_websocket(mut self, websocket: Option<crate::ws::WebSocketOptions>) -> EndpointOptions {
        self.websocket = websocket;
        self
    }
}

impl EndpointOptions {
    /// Answers requests at this path with a route: a page, a document, or any HTTP service, see [`tower`](super::tower).
    ///
    /// - A route takes precedence over calls at the same path, unless it does not [take](Route::takes) the request. Of several routes at one
    ///   path, the one added last wins.
    /// - A path that ends in `/*` matches everything below it, except calls and other routes. The longest match wins.
    #[must_use]
    pub fn route(mut self, path: impl Into<String>, route: impl Route) -> EndpointOptions {
        self.routes.add(path.into(), Arc::new(route));
        self
    }

    /// Removes all routes, including the one for event streams.
    #[must_use]
    pub fn without_routes(mut self) -> EndpointOptions {
        self.routes = Routes::default();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // JH-03, JH-22, JH-24
    #[test]
    fn the_draft_gives_every_error_a_status_of_its_own_and_the_default_none() {
        let check = |code: Option<Code>, expected: u16| {
            assert_eq!(StatusMapping::Draft2008.status(code), expected, "{code:?}");
            assert_eq!(StatusMapping::AlwaysOk.status(code), 200, "{code:?}");
        };
        check(None, 200);
        check(Some(Code::PARSE_ERROR), 400);
        check(Some(Code::INVALID_REQUEST), 400);
        check(Some(Code::METHOD_NOT_FOUND), 404);
        check(Some(Code::INVALID_PARAMS), 500);
        check(Some(Code::INTERNAL_ERROR), 500);
        check(Some(Code::TIMED_OUT), 500);
        check(Some(Code(1001)), 500);
    }
}
