//! What an endpoint can be told.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{self, HeaderName};
use switchboard_core::Code;

use super::cors::Cors;
use super::guard::{Hosts, Origins};
use super::routes::{Get, Route, Routes, StreamRoute};

/// How an [`Endpoint`](super::Endpoint) treats requests.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{Cors, Options, Origins};
///
/// let options = Options {
///     origins: Origins::only(["https://app.example.com"])?,
///     cors: Some(Cors::default()),
///     ..Options::default()
/// };
/// # Ok::<(), switchboard_transport::http::GuardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The paths where calls are answered: `/`, `/rpc` and `/jsonrpc`. An empty list means every path.
    pub paths: Vec<String>,
    /// What is answered at other paths: a [`StreamRoute`] at `/rpc/stream`. Add more with [`route`](Options::route).
    pub routes: Routes,
    /// What may be called by GET, at the path of a [`StreamRoute`]: anything on a loopback address, nothing elsewhere.
    pub get: Get,
    /// How long an event stream is silent before a comment shows that it is alive: 15 s. Must be less than
    /// [`idle_time`](crate::server::ServerOptions::idle_time), after which a silent connection is closed.
    pub keep_alive: Option<Duration>,
    /// The status when there is nothing to answer, because only notifications came: 204. Some clients want 202, and
    /// some old ones 200 (JH-23).
    pub nothing_status: StatusCode,
    /// The status of a failed call: always 200.
    pub status: StatusMapping,
    /// Which names of a reply's [metadata](switchboard_core::Extra) become headers of the response: `retry-after` and
    /// `www-authenticate`. Others are dropped: a backend must not set cookies of the server in front of it. A reply may also ask
    /// for a status, which goes before [`status`](Options::status).
    pub reply_headers: Vec<HeaderName>,
    /// Which values of `Host` are answered: those of this machine if the server listens on a loopback address,
    /// network addresses and `localhost` elsewhere.
    pub hosts: Hosts,
    /// Which values of `Origin` are answered: that of the server itself.
    pub origins: Origins,
    /// What other sites' pages may do, those whose origin passes: nothing. Without this, browsers do not let them.
    pub cors: Option<Cors>,
    /// How long a body may take to come: 30 s (SEC-H-05).
    pub body_time: Duration,
    /// Bytes of all bodies and messages together that are longer than 64 KiB, where this is mounted into the server of
    /// somebody else: 256 MiB. Our own server has [`ServerOptions::buffers`](crate::server::ServerOptions::buffers) for all
    /// that it serves.
    pub buffers: usize,
    /// How a request is treated that asks to go on as a WebSocket, on the paths above and at `/rpc/ws`: as the defaults
    /// have it. None means that it is refused like any GET.
    #[cfg(feature = "ws")]
    pub websocket: Option<crate::ws::Options>,
}

/// Which HTTP status a response object has (JH-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusMapping {
    /// 200, whatever the call came to. Most clients lose the error object otherwise.
    #[default]
    AlwaysOk,
    /// The mapping of the 2008 draft for single calls: 400 for what is no request, 404 for unknown methods, 500 for
    /// every other error; what is not even JSON is 400 here, though 500 in the draft (JH-03, JH-24). Batches are 200.
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

impl Default for Options {
    fn default() -> Options {
        Options {
            paths: ["/", "/rpc", "/jsonrpc"].map(str::to_owned).to_vec(),
            routes: Routes::default(),
            get: Get::default(),
            keep_alive: Some(Duration::from_secs(15)),
            nothing_status: StatusCode::NO_CONTENT,
            status: StatusMapping::default(),
            reply_headers: vec![header::RETRY_AFTER, header::WWW_AUTHENTICATE],
            hosts: Hosts::default(),
            origins: Origins::default(),
            cors: None,
            body_time: Duration::from_secs(30),
            buffers: 256 << 20,
            #[cfg(feature = "ws")]
            websocket: Some(crate::ws::Options::default()),
        }
        .route("/rpc/stream", StreamRoute)
    }
}

impl Options {
    /// Answers requests at this path with a route: a page, a document, or anything else of HTTP, see [`tower`](super::tower).
    ///
    /// - A route goes before calls at the same path, unless it does not [take](Route::takes) the request. Of several routes at one
    ///   path, the one that was added last goes first.
    /// - A path that ends in `/*` stands for everything below it, except for calls and other routes. The longest one goes first.
    #[must_use]
    pub fn route(mut self, path: impl Into<String>, route: impl Route) -> Options {
        self.routes.add(path.into(), Arc::new(route));
        self
    }

    /// The same options without routes, the one for event streams included.
    #[must_use]
    pub fn without_routes(mut self) -> Options {
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
