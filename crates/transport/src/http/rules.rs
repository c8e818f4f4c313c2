//! What decides about a request, before its body is read: who, where, how, what.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Uri, Version};
use http_body::Body as HttpBody;
use switchboard_core::{Context, Service, Settings};
use tokio::time::Instant;

use super::cors::CorsHeaders;
use super::fault::Fault;
use super::guard::Guard;
use super::head::{Head, restart};
use super::media::{self, Format};
use super::options::{Options, RequestHeaders};
use super::plain;
use super::sse::Asked;

/// All that decides how a request is answered.
pub(crate) struct Rules {
    pub(super) service: Arc<dyn Service>,
    pub(super) settings: Arc<Settings>,
    pub(super) options: Options,
    guard: Guard,
    cors: Option<CorsHeaders>,
    is_loopback: bool,
    /// The paths of requests that may take the short way.
    pub(super) plain_paths: Vec<String>,
    has_told_of_hosts: AtomicBool,
    has_told_of_origins: AtomicBool,
}

/// A request whose head was looked at.
pub(super) struct Admitted<B> {
    pub(super) body: B,
    pub(super) verdict: Verdict,
    /// The headers of the response, as far as they are known. They are in the map that held the request's, because
    /// making a new one would cost more than filling it.
    pub(super) headers: HeaderMap,
    pub(super) kept: Option<Box<Kept>>,
    /// How it asks for an event stream, if it does.
    pub(super) asked: Option<Box<Asked>>,
    pub(super) is_http1: bool,
}

impl<B: HttpBody> Admitted<B> {
    /// Whether the request has a body that is not read for its answer. (A refusal with an unread body closes the connection.)
    pub(super) fn leaves_body(&self) -> bool {
        let is_read = matches!(self.verdict, Verdict::Calls(_) | Verdict::Events | Verdict::Refused(_));
        !is_read && !self.body.is_end_stream()
    }
}

/// What the calls of a request are to know of its head, if that is anything.
pub(super) struct Kept {
    pub(super) headers: Option<RequestHeaders>,
    /// How long the caller waits, and since when: the time goes on while the body is read.
    pub(super) timeout: Option<(Instant, Duration)>,
}

impl Kept {
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

/// What the head of a request comes to.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    /// Its body holds calls, to be answered in this format.
    Calls(Format),
    /// It wants an event stream.
    Events,
    /// It goes on as a WebSocket; headers say it all.
    #[cfg(feature = "ws")]
    Switch,
    /// It fetches the document of the API.
    Document,
    /// A browser wants the page with this index.
    Page(usize),
    /// It asks what is allowed; headers say it all.
    Preflight,
    /// It is refused.
    Refused(Fault),
}

/// What a request that is not refused wants.
enum Wanted {
    /// One answer in this format.
    Answer(Format),
    /// The answer as events.
    Events(Box<Asked>),
    /// The document of the API.
    Document,
    /// The page with this index.
    Page(usize),
}

impl Rules {
    /// The rules of an endpoint that is reached at this address, if it is known.
    pub(super) fn new(
        service: Arc<dyn Service>,
        settings: Settings,
        options: Options,
        address: Option<SocketAddr>,
    ) -> Rules {
        let guard = Guard::new(&options.hosts, &options.origins, address);
        let cors = options.cors.as_ref().map(|cors| CorsHeaders::new(cors, &options.origins));
        let is_loopback = address.is_some_and(|address| address.ip().is_loopback());
        let plain_paths = plain::paths(&options, &settings);
        let settings = Arc::new(settings);
        Rules {
            service,
            settings,
            options,
            guard,
            cors,
            is_loopback,
            plain_paths,
            has_told_of_hosts: AtomicBool::new(false),
            has_told_of_origins: AtomicBool::new(false),
        }
    }

    /// Checks the head of a request.
    pub(super) fn admit<B: HttpBody>(&self, request: Request<B>) -> Admitted<B> {
        let (parts, body) = request.into_parts();
        let is_http1 = parts.version <= Version::HTTP_11;
        let mut headers = parts.headers;
        let head = Head::read(&headers);
        #[cfg(feature = "ws")]
        if let Some(outcome) = self.judge_upgrade(&parts.method, &parts.uri, parts.version, &headers, &head) {
            return self.admit_upgrade(outcome, body, headers, is_http1);
        }
        let has_origin = head.origin.is_some();
        let mut asked = None;
        let timeout = head.timeout().map(|timeout| (Instant::now(), timeout));
        let verdict = match self.judge(&parts.method, &parts.uri, parts.version, &headers, &head) {
            Ok(Wanted::Answer(format)) => Verdict::Calls(format),
            Ok(Wanted::Events(how)) => {
                asked = Some(how);
                Verdict::Events
            }
            Ok(Wanted::Document) => Verdict::Document,
            Ok(Wanted::Page(index)) => Verdict::Page(index),
            Err(Fault::Method(_)) if self.cors.is_some() && parts.method == Method::OPTIONS => {
                Verdict::Preflight
            }
            Err(fault) => Verdict::Refused(fault),
        };
        let is_call = matches!(verdict, Verdict::Calls(_) | Verdict::Events | Verdict::Document);
        let origin = self.cors.as_ref().and_then(|_| headers.get(header::ORIGIN).cloned());
        let is_preflight = matches!(verdict, Verdict::Preflight)
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let keeps = is_call && self.options.keep_headers;
        let kept = keeps.then(|| RequestHeaders(std::mem::take(&mut headers)));
        let kept = (kept.is_some() || timeout.is_some()).then(|| Box::new(Kept { headers: kept, timeout }));
        // A browser says by `Origin` that a page calls. It says nothing when it fetches by itself, for the address bar or an image.
        restart(&mut headers, has_origin || !is_call || parts.method != Method::POST);
        match (&self.cors, verdict) {
            (None, _) | (Some(_), Verdict::Refused(_)) => {}
            (Some(cors), _) => cors.add(&mut headers, origin, is_preflight),
        }
        Admitted { body, verdict, headers, kept, asked, is_http1 }
    }

    /// The methods that are allowed, except on stream paths.
    pub(super) fn allowed(&self) -> &'static str {
        if self.cors.is_some() { "POST, OPTIONS" } else { "POST" }
    }

    /// The format in which a request is to be answered, or why it is refused.
    fn judge(
        &self,
        method: &Method,
        uri: &Uri,
        version: Version,
        headers: &HeaderMap,
        head: &Head<'_>,
    ) -> Result<Wanted, Fault> {
        self.check_caller(head, uri, version)?;
        if method == Method::CONNECT {
            return Err(Fault::Connect);
        }
        if self.options.stream_paths.iter().any(|path| path == uri.path()) {
            return self.judge_stream(method, uri, headers, head).map(Wanted::Events);
        }
        if let Some(page) = self.judge_page(method, uri, headers) {
            return page.map(Wanted::Page);
        }
        let is_fetch = matches!(*method, Method::GET | Method::HEAD);
        if is_fetch && self.options.document_path.as_deref() == Some(uri.path()) {
            return Ok(Wanted::Document);
        }
        let paths = &self.options.paths;
        if !paths.is_empty() && !paths.iter().any(|path| path == uri.path()) {
            return Err(Fault::NotFound);
        }
        if method != Method::POST {
            return Err(Fault::Method(self.allowed()));
        }
        let format = head.format(headers).ok_or(Fault::NotAcceptable)?;
        if head.is_compressed {
            return Err(Fault::Encoding);
        }
        if head.has_repeated_type || !head.content_type.is_some_and(|value| media::is_json(value.as_bytes()))
        {
            return Err(Fault::MediaType);
        }
        Ok(match format {
            Format::Events => Wanted::Events(Box::new(Asked { query: None, is_in_query: false })),
            format => Wanted::Answer(format),
        })
    }

    /// The page that a browser wants to show, if there is one at this path.
    fn judge_page(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Result<usize, Fault>> {
        let pages = &self.options.pages;
        if pages.is_empty() || !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let index = pages.iter().position(|page| page.path() == uri.path())?;
        let lines = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        if !media::prefers_html(lines(header::ACCEPT)) {
            return None;
        }
        let is_readable = !pages[index].is_gzip() || media::takes_gzip(lines(header::ACCEPT_ENCODING));
        Some(if is_readable { Ok(index) } else { Err(Fault::NotGzip) })
    }

    /// How a request on a stream path asks, or why it is refused.
    fn judge_stream(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        head: &Head<'_>,
    ) -> Result<Box<Asked>, Fault> {
        let is_get = method == Method::GET && !self.options.get.is_off(self.is_loopback);
        if !is_get && method != Method::POST {
            return Err(Fault::Method(
                match (self.options.get.is_off(self.is_loopback), self.cors.is_some()) {
                    (true, _) => self.allowed(),
                    (false, false) => "GET, POST",
                    (false, true) => "GET, POST, OPTIONS",
                },
            ));
        }
        if !head.takes_events(headers) {
            return Err(Fault::NotEvents);
        }
        if head.is_compressed {
            return Err(Fault::Encoding);
        }
        let is_json = head.content_type.map(|value| media::is_json(value.as_bytes()));
        // A form of another site has a type; a script's POST has an `Origin`, which was looked at.
        if head.has_repeated_type || !is_get && is_json == Some(false) {
            return Err(Fault::MediaType);
        }
        let query = Some(uri.query().unwrap_or_default().to_owned());
        let asked = Asked { query, is_in_query: is_get || is_json.is_none() };
        if is_get {
            self.options.get.check(asked.method().as_deref(), headers)?;
        }
        Ok(Box::new(asked))
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
