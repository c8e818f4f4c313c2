//! The checks of a request before its body is read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri, Version};
use http_body::Body as HttpBody;
use switchboard_core::{AdmitFuture, Arrival, Context, Engine, RequestHead, Service, Settings};

use super::cors::CorsHeaders;
use super::fault::Fault;
use super::guard::Guard;
use super::head::{Head, first_headers};
use super::media::{self, Format, Wanted};
use super::metadata;
use super::options::EndpointOptions;
use super::plain;
use super::routes::{CallsInParts, Route, RouteRequest};
use super::server_tap;
use super::signed::{self, SIGNATURE_INPUT};

/// All that decides how a request is answered.
pub(crate) struct Rules {
    pub(super) engine: Engine,
    pub(super) options: EndpointOptions,
    guard: Guard,
    cors: Option<CorsHeaders>,
    /// The paths of requests that may take the short way.
    pub(super) plain_paths: Vec<String>,
    has_told_of_hosts: AtomicBool,
    has_told_of_origins: AtomicBool,
}

/// A request whose head was looked at.
pub(super) struct Admitted<B> {
    pub(super) body: B,
    pub(super) decision: Decision,
    /// The context of its calls: with its headers as metadata, and its deadline.
    pub(super) cx: Context,
    /// What the admission decides, if there is one.
    pub(super) admission: Option<Box<AdmitFuture>>,
    /// The headers of the response, as far as they are known.
    pub(super) headers: HeaderMap,
    /// What few requests have, in one place: this is copied for every request.
    pub(super) special: Option<Box<Special>>,
    pub(super) is_http1: bool,
}

/// What few requests have.
pub(super) enum Special {
    /// What answers it other than with calls.
    Route(RouteRequest),
    /// What its signature covers besides headers and body.
    Signed(RequestHead),
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
enum Target {
    /// One answer in this format.
    Calls(Format),
    /// What this route gives.
    Route(Arc<dyn Route>),
}

impl Rules {
    /// The rules of an endpoint that is reached at this address, if it is known.
    pub(super) fn new(
        service: Arc<dyn Service>,
        settings: impl Into<Arc<Settings>>,
        options: EndpointOptions,
        address: Option<SocketAddr>,
    ) -> Rules {
        let guard = Guard::new(&options.hosts, &options.origins, address);
        let cors = options.cors.as_ref().map(|cors| CorsHeaders::new(cors, &options.origins));
        let settings = settings.into();
        let plain_paths = plain::paths(&options, &settings);
        Rules {
            engine: Engine::new(service, settings),
            options,
            guard,
            cors,
            plain_paths,
            has_told_of_hosts: AtomicBool::new(false),
            has_told_of_origins: AtomicBool::new(false),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        self.engine.settings()
    }

    /// Checks the head of a request over a connection with this context.
    pub(super) fn admit<B: HttpBody>(&self, request: Request<B>, cx: &Context) -> Admitted<B> {
        server_tap::request(self.settings(), &request);
        let (mut parts, body) = request.into_parts();
        let head = Head::read(&parts.headers);
        #[cfg(feature = "ws")]
        if let Some(outcome) = self.judge_upgrade(&parts, &head) {
            return self.admit_upgrade(outcome, &parts, body, cx.clone());
        }
        let mut cx = cx.clone();
        if let Some(timeout) = head.timeout() {
            cx.expect_within(timeout);
        }
        let has_origin = head.origin.is_some();
        let asks_for_options = self.cors.is_some() && parts.method == Method::OPTIONS;
        let is_preflight =
            asks_for_options && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let caller = self.check_caller(&head, &parts.uri, parts.version);
        let is_allowed = caller.is_ok();
        let decision = match caller.and_then(|()| self.judge(&parts, &head)) {
            Ok(Target::Route(_)) | Err(Fault::Method(_)) if asks_for_options => Decision::Preflight,
            // Without this permission a page could not read that its path is wrong.
            Err(Fault::NotFound) if is_preflight => Decision::Preflight,
            Ok(Target::Calls(format)) => Decision::Calls(format),
            Ok(Target::Route(route)) => return self.admit_route(route, parts, body, cx, has_origin),
            Err(fault) => Decision::Refused(fault),
        };
        let is_call = matches!(decision, Decision::Calls(_));
        let is_for_browser = has_origin || !is_call || parts.method != Method::POST;
        let origin = self.cors.as_ref().and_then(|_| parts.headers.get(header::ORIGIN).cloned());
        let special = (is_call && parts.headers.contains_key(SIGNATURE_INPUT))
            .then(|| Box::new(Special::Signed(signed::head(&parts.method, &parts.uri, &parts.headers, &cx))));
        *cx.metadata_mut() = metadata::of(std::mem::take(&mut parts.headers));
        let admission = if is_call { self.ask(&parts, &cx, false) } else { None };
        let mut headers = first_headers(is_for_browser);
        if let Some(cors) = self.cors.as_ref().filter(|_| is_allowed) {
            cors.add(&mut headers, origin, is_preflight);
        }
        let is_http1 = parts.version <= Version::HTTP_11;
        Admitted { body, decision, cx, admission, headers, special, is_http1 }
    }

    /// A request for a route, which gets its head as it is.
    #[inline(never)]
    fn admit_route<B>(
        &self,
        route: Arc<dyn Route>,
        head: Parts,
        body: B,
        mut cx: Context,
        has_origin: bool,
    ) -> Admitted<B> {
        let is_http1 = head.version <= Version::HTTP_11;
        let mut headers = HeaderMap::new();
        if !route.sets_all_headers() {
            // A browser says by `Origin` that a page calls. It says nothing when it fetches by itself, for the address bar or an
            // image.
            headers = first_headers(has_origin || head.method != Method::POST);
        }
        if let Some(cors) = &self.cors {
            cors.add(&mut headers, head.headers.get(header::ORIGIN).cloned(), false);
        }
        *cx.metadata_mut() = metadata::of(head.headers.clone());
        let admission = self.ask(&head, &cx, false);
        let special = Some(Box::new(Special::Route(RouteRequest { head, route })));
        Admitted { body, decision: Decision::Route, cx, admission, headers, special, is_http1 }
    }

    /// Asks the admission about a request that is not refused otherwise.
    pub(super) fn ask(&self, head: &Parts, cx: &Context, is_upgrade: bool) -> Option<Box<AdmitFuture>> {
        self.settings().admission.as_ref()?;
        let arrival = Arrival::request(cx, head.method.as_str(), head.uri.path(), is_upgrade);
        self.engine.admit(&arrival).map(Box::new)
    }

    /// The methods that are allowed, except on stream paths.
    pub(super) fn allowed(&self) -> &'static str {
        if self.cors.is_some() { "POST, OPTIONS" } else { "POST" }
    }

    /// What a request of an allowed caller wants, or why it is refused.
    fn judge(&self, parts: &Parts, head: &Head<'_>) -> Result<Target, Fault> {
        if parts.method == Method::CONNECT {
            return Err(Fault::Connect);
        }
        if let Some(route) = self.options.routes.exact(parts) {
            return Ok(Target::Route(Arc::clone(route)));
        }
        let paths = &self.options.paths;
        let is_for_calls = paths.is_empty() || paths.iter().any(|path| path == parts.uri.path());
        if !is_for_calls || parts.method != Method::POST {
            let fault = if is_for_calls { Fault::Method(self.allowed()) } else { Fault::NotFound };
            return self
                .options
                .routes
                .below(parts)
                .map(|route| Target::Route(Arc::clone(route)))
                .ok_or(fault);
        }
        let wanted = head.wanted(&parts.headers).ok_or(Fault::NotAcceptable)?;
        if head.is_compressed {
            return Err(Fault::Encoding);
        }
        if head.has_repeated_type || !head.content_type.is_some_and(|value| media::is_json(value.as_bytes()))
        {
            return Err(Fault::MediaType);
        }
        Ok(match wanted {
            Wanted::Whole(format) => Target::Calls(format),
            wanted => Target::Route(Arc::new(CallsInParts(wanted))),
        })
    }

    /// Whether this host, and pages of this origin, are answered at all.
    pub(super) fn check_caller(&self, head: &Head<'_>, uri: &Uri, version: Version) -> Result<(), Fault> {
        self.check_host(head, uri, version)?;
        if head.has_repeated_origin {
            return Err(Fault::Forbidden("`Origin` appears more than once"));
        }
        if let Some(origin) = head.origin {
            let host = target(uri).or(head.host.map(HeaderValue::as_bytes));
            if !self.guard.takes_origin(origin.as_bytes(), host) {
                self.note_foreign_origin();
                return Err(Fault::Forbidden(
                    "this origin is not allowed; the server's operator can allow it",
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
                "refused a request for a host name that is not allowed; if the name is one of yours, \
                 allow it in `http::EndpointOptions::hosts`, or with `switchboard serve --allow-host NAME`"
            );
        }
    }

    /// The same for pages.
    fn note_foreign_origin(&self) {
        if !self.has_told_of_origins.swap(true, Relaxed) {
            tracing::warn!(
                "refused a call from a page of another origin; if the page is one of yours, allow it in \
                 `http::EndpointOptions::origins`, or with `switchboard serve --allow-origin ORIGIN --cors`"
            );
        }
    }

    /// SEC-O-01. With HTTP/2 the host stands in the target; where it stands twice, both must pass.
    fn check_host(&self, head: &Head<'_>, uri: &Uri, version: Version) -> Result<(), Fault> {
        if head.has_repeated_host {
            return Err(Fault::BadRequest("`Host` appears more than once"));
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
            return Err(Fault::Forbidden(
                "this host name is not allowed; the server's operator can allow it",
            ));
        }
        Ok(())
    }
}

/// The host that the target itself names.
fn target(uri: &Uri) -> Option<&[u8]> {
    uri.authority().map(|authority| authority.as_str().as_bytes())
}
