//! What decides about a request, before its body is read: who, where, how, what.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri, Version};
use http_body::Body as HttpBody;
use switchboard_core::{Context, Engine, Service, Settings};
use tokio::time::Instant;

use super::cors::CorsHeaders;
use super::fault::Fault;
use super::guard::Guard;
use super::head::{Head, restart};
use super::media::{self, Format};
use super::options::{Options, RequestHeaders};
use super::plain;
use super::routes::{PreferredEvents, Route, RouteRequest};
use super::server_tap;

/// All that decides how a request is answered.
pub(crate) struct Rules {
    pub(super) engine: Engine,
    pub(super) options: Options,
    guard: Guard,
    cors: Option<CorsHeaders>,
    pub(super) is_loopback: bool,
    /// Answers calls to those who prefer events.
    events: Arc<dyn Route>,
    /// The paths of requests that may take the short way.
    pub(super) plain_paths: Vec<String>,
    has_told_of_hosts: AtomicBool,
    has_told_of_origins: AtomicBool,
}

/// A request whose head was looked at.
pub(super) struct Admitted<B> {
    pub(super) body: B,
    pub(super) decision: Decision,
    /// The headers of the response, as far as they are known. They are in the map that held the request's, because
    /// making a new one would cost more than filling it.
    pub(super) headers: HeaderMap,
    pub(super) requested: Option<Box<RequestOptions>>,
    /// What answers it other than with calls, if something does.
    pub(super) route: Option<Box<RouteRequest>>,
    pub(super) is_http1: bool,
}

impl<B: HttpBody> Admitted<B> {
    /// Whether the request has a body that is not read for its answer. (A refusal with an unread body closes the connection.)
    pub(super) fn leaves_body(&self) -> bool {
        let is_read = matches!(self.decision, Decision::Calls(_) | Decision::Route | Decision::Refused(_));
        !is_read && !self.body.is_end_stream()
    }
}

/// What the calls of a request are to know of its head, if that is anything.
pub(super) struct RequestOptions {
    pub(super) headers: Option<RequestHeaders>,
    /// How long the caller waits, and since when: the time goes on while the body is read.
    pub(super) timeout: Option<(Instant, Duration)>,
}

impl RequestOptions {
    /// What is asked for, if that is anything.
    fn new(
        headers: Option<RequestHeaders>,
        timeout: Option<(Instant, Duration)>,
    ) -> Option<Box<RequestOptions>> {
        (headers.is_some() || timeout.is_some()).then(|| Box::new(RequestOptions { headers, timeout }))
    }

    /// A context that knows it.
    pub(super) fn put_into(self, cx: &Context) -> Context {
        let mut cx = cx.clone();
        if let Some(headers) = self.headers {
            cx.insert(headers);
        }
        if let Some((begun, timeout)) = self.timeout {
            cx.expect_within(timeout.saturating_sub(begun.elapsed()));
        }
        cx
    }
}

/// How a request is answered, decided by its head.
#[derive(Clone, Copy)]
pub(super) enum Decision {
    /// Its body holds calls, to be answered in this format.
    Calls(Format),
    /// A route answers it.
    Route,
    /// It goes on as a WebSocket; headers say it all.
    #[cfg(feature = "ws")]
    Switch,
    /// It asks what is allowed; headers say it all.
    Preflight,
    /// It is refused.
    Refused(Fault),
}

/// What a request that is not refused wants.
enum Wanted {
    /// One answer in this format.
    Answer(Format),
    /// What this route gives.
    Route(Arc<dyn Route>),
}

impl Rules {
    /// The rules of an endpoint that is reached at this address, if it is known.
    pub(super) fn new(
        service: Arc<dyn Service>,
        settings: impl Into<Arc<Settings>>,
        options: Options,
        address: Option<SocketAddr>,
    ) -> Rules {
        let guard = Guard::new(&options.hosts, &options.origins, address);
        let cors = options.cors.as_ref().map(|cors| CorsHeaders::new(cors, &options.origins));
        let is_loopback = address.is_some_and(|address| address.ip().is_loopback());
        let settings = settings.into();
        let plain_paths = plain::paths(&options, &settings);
        Rules {
            engine: Engine::new(service, settings),
            options,
            guard,
            cors,
            is_loopback,
            events: Arc::new(PreferredEvents),
            plain_paths,
            has_told_of_hosts: AtomicBool::new(false),
            has_told_of_origins: AtomicBool::new(false),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        self.engine.settings()
    }

    /// Checks the head of a request.
    pub(super) fn admit<B: HttpBody>(&self, request: Request<B>) -> Admitted<B> {
        server_tap::request(self.settings(), &request);
        let (parts, body) = request.into_parts();
        let is_http1 = parts.version <= Version::HTTP_11;
        let head = Head::read(&parts.headers);
        #[cfg(feature = "ws")]
        if let Some(outcome) =
            self.judge_upgrade(&parts.method, &parts.uri, parts.version, &parts.headers, &head)
        {
            return self.admit_upgrade(outcome, body, parts.headers, is_http1);
        }
        let has_origin = head.origin.is_some();
        let timeout = head.timeout().map(|timeout| (Instant::now(), timeout));
        let asks_for_options = self.cors.is_some() && parts.method == Method::OPTIONS;
        let decision = match self.judge(&parts, &head) {
            Ok(Wanted::Route(_)) | Err(Fault::Method(_)) if asks_for_options => Decision::Preflight,
            Ok(Wanted::Answer(format)) => Decision::Calls(format),
            Ok(Wanted::Route(route)) => return self.admit_route(route, parts, body, has_origin, timeout),
            Err(fault) => Decision::Refused(fault),
        };
        let is_call = matches!(decision, Decision::Calls(_));
        let is_for_browser = has_origin || !is_call || parts.method != Method::POST;
        let mut headers = parts.headers;
        let origin = self.cors.as_ref().and_then(|_| headers.get(header::ORIGIN).cloned());
        let is_preflight = matches!(decision, Decision::Preflight)
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let keeps = is_call && self.options.keep_headers;
        let kept = keeps.then(|| RequestHeaders(std::mem::take(&mut headers)));
        let requested = RequestOptions::new(kept, timeout);
        restart(&mut headers, is_for_browser);
        match (&self.cors, decision) {
            (None, _) | (Some(_), Decision::Refused(_)) => {}
            (Some(cors), _) => cors.add(&mut headers, origin, is_preflight),
        }
        Admitted { body, decision, headers, requested, route: None, is_http1 }
    }

    /// A request for a route, which gets its head as it is.
    #[inline(never)]
    fn admit_route<B>(
        &self,
        route: Arc<dyn Route>,
        head: Parts,
        body: B,
        has_origin: bool,
        timeout: Option<(Instant, Duration)>,
    ) -> Admitted<B> {
        let is_http1 = head.version <= Version::HTTP_11;
        let mut headers = HeaderMap::new();
        if !route.sets_all_headers() {
            // A browser says by `Origin` that a page calls. It says nothing when it fetches by itself, for the address bar or an
            // image.
            restart(&mut headers, has_origin || head.method != Method::POST);
        }
        if let Some(cors) = &self.cors {
            cors.add(&mut headers, head.headers.get(header::ORIGIN).cloned(), false);
        }
        let kept = self.options.keep_headers.then(|| RequestHeaders(head.headers.clone()));
        let requested = RequestOptions::new(kept, timeout);
        let route = Some(Box::new(RouteRequest { head, route }));
        Admitted { body, decision: Decision::Route, headers, requested, route, is_http1 }
    }

    /// The methods that are allowed, except on stream paths.
    pub(super) fn allowed(&self) -> &'static str {
        if self.cors.is_some() { "POST, OPTIONS" } else { "POST" }
    }

    /// What a request wants, or why it is refused.
    fn judge(&self, parts: &Parts, head: &Head<'_>) -> Result<Wanted, Fault> {
        self.check_caller(head, &parts.uri, parts.version)?;
        if parts.method == Method::CONNECT {
            return Err(Fault::Connect);
        }
        if let Some(route) = self.options.routes.exact(parts) {
            return Ok(Wanted::Route(Arc::clone(route)));
        }
        let paths = &self.options.paths;
        let is_for_calls = paths.is_empty() || paths.iter().any(|path| path == parts.uri.path());
        if !is_for_calls || parts.method != Method::POST {
            let fault = if is_for_calls { Fault::Method(self.allowed()) } else { Fault::NotFound };
            return self
                .options
                .routes
                .below(parts)
                .map(|route| Wanted::Route(Arc::clone(route)))
                .ok_or(fault);
        }
        let format = head.format(&parts.headers).ok_or(Fault::NotAcceptable)?;
        if head.is_compressed {
            return Err(Fault::Encoding);
        }
        if head.has_repeated_type || !head.content_type.is_some_and(|value| media::is_json(value.as_bytes()))
        {
            return Err(Fault::MediaType);
        }
        Ok(match format {
            Format::Events => Wanted::Route(Arc::clone(&self.events)),
            format => Wanted::Answer(format),
        })
    }

    /// Whether this host, and pages of this origin, are answered at all.
    pub(super) fn check_caller(&self, head: &Head<'_>, uri: &Uri, version: Version) -> Result<(), Fault> {
        self.check_host(head, uri, version)?;
        if head.has_repeated_origin {
            return Err(Fault::Forbidden("`Origin` stands more than once"));
        }
        if let Some(origin) = head.origin {
            let host = target(uri).or(head.host.map(HeaderValue::as_bytes));
            if !self.guard.takes_origin(origin.as_bytes(), host) {
                self.note_foreign_origin();
                return Err(Fault::Forbidden(
                    "pages of this origin may not call; the server can be told to allow it",
                ));
            }
        }
        Ok(())
    }

    /// Whether requests for this host, from pages of this origin, are accepted.
    pub(super) fn takes_caller(&self, host: &[u8], origin: Option<&[u8]>) -> bool {
        self.guard.takes_host(host) && origin.is_none_or(|origin| self.guard.takes_origin(origin, Some(host)))
    }

    /// The CORS headers, if CORS is enabled.
    pub(super) fn cors(&self) -> Option<&CorsHeaders> {
        self.cors.as_ref()
    }

    /// Tells the operator once what may be a mistake of theirs. Callers decide how often it happens, so it is not told
    /// each time; and what they sent is not repeated.
    fn note_foreign_host(&self) {
        if !self.has_told_of_hosts.swap(true, Relaxed) {
            tracing::warn!(
                "a request for a host that this server does not go by was refused; if its name is one of yours, \
                 allow it in `http::Options::hosts`, or with `--allow-host NAME` of `switchboard serve`"
            );
        }
    }

    /// The same for pages.
    fn note_foreign_origin(&self) {
        if !self.has_told_of_origins.swap(true, Relaxed) {
            tracing::warn!(
                "a call of a page from another origin was refused; if the page is one of yours, allow it in \
                 `http::Options::origins`, or with `--allow-origin ORIGIN --cors` of `switchboard serve`"
            );
        }
    }

    /// SEC-O-01. With HTTP/2 the host stands in the target; where it stands twice, both must pass.
    fn check_host(&self, head: &Head<'_>, uri: &Uri, version: Version) -> Result<(), Fault> {
        if head.has_repeated_host {
            return Err(Fault::BadRequest("`Host` stands more than once"));
        }
        if head.host.is_none() && version == Version::HTTP_11 {
            return Err(Fault::BadRequest("`Host` is missing"));
        }
        if !self.guard.checks_hosts() {
            return Ok(());
        }
        let named = [target(uri), head.host.map(HeaderValue::as_bytes)];
        let is_foreign = named.into_iter().flatten().any(|host| !self.guard.takes_host(host));
        // Before HTTP/1.1 there was no `Host`; no browser is that old.
        let is_unnamed = named == [None, None] && version > Version::HTTP_10;
        if is_foreign || is_unnamed {
            self.note_foreign_host();
            return Err(Fault::Forbidden("this server does not go by that name; it can be told to"));
        }
        Ok(())
    }
}

/// The host that the target itself names.
fn target(uri: &Uri) -> Option<&[u8]> {
    uri.authority().map(|authority| authority.as_str().as_bytes())
}
