//! Calling over HTTP: one POST for each call or batch, over pooled connections.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::uri::Scheme;
use http::{Method, Request, Response, Uri};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use switchboard_core::codec::{encode_notification, encode_request};
use switchboard_core::{
    Call, CallError, Direction, Id, ItemCheck, Json, Members, Metadata, Outgoing, Peer, Remote, Reply,
    ReplyFuture, SealedRequest, Service, Settings, Share, Version, Wire,
};
use tokio::time::Instant;

use super::body::{self, Unread};
use super::client_options::HttpClientOptions;
use super::connector::Connector;
#[cfg(feature = "tls")]
use super::connector::Refusal;
use super::explained;
use super::head::TIMEOUT;
use super::interim;
use super::media;
use super::metadata;
use super::outcome::{Received, failure};
use super::redact;
use super::signed;
use super::sse::{self, Reading};
use super::tapped_body::Sent;
use super::timeouts::after;
use super::url::{self, HttpUrlError};
use crate::parts::{self, Notifications};
#[cfg(feature = "tls")]
use crate::tls::{ClientFiles, ClientTls};

/// A peer for the server at this URL. Nothing is sent before the first call.
///
/// # Errors
///
/// When it is not an `http` or `https` URL.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let peer = switchboard_transport::http::connect("http://127.0.0.1:8000/rpc")?;
/// let sum: i64 = peer.call("add", [2, 3]).await?;
/// # Ok(())
/// # }
/// ```
pub fn connect(url: &str) -> Result<Peer, HttpUrlError> {
    Ok(Peer::new(Client::new(url)?))
}

/// Calls a server over HTTP. Cheap to clone; all clones share their connections.
///
/// Identifiers count up from 1. A call is sent once: a request without a response may have been executed, so it is
/// never sent again (JH-28). Only if a pooled connection turns out to be closed before anything was sent, the call goes
/// out over another one. Redirects are not followed. Dropping the future of a call closes its connection, or resets its
/// stream, which cancels the call on servers that notice.
///
/// A call that wants a stream ([`Peer::stream`]) or progress ([`on_progress`](switchboard_core::Request::on_progress)) asks for an event stream,
/// see [`sse`]. Every call accepts its response as JSON or as an event stream, whichever it asked for. A stream starts with its first
/// event, or earlier if the server announces it, as ours does.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Receives the notifications in event streams.
    service: Option<Arc<dyn Service>>,
}

struct Inner {
    http: legacy::Client<Connector, Sent>,
    #[cfg(feature = "tls")]
    refusal: Refusal,
    uri: Uri,
    /// Host and port, for messages.
    target: String,
    options: HttpClientOptions,
    settings: Settings,
    next_id: AtomicU64,
}

/// Bytes that a response may have around its result.
const ENVELOPE: usize = 64 << 10;
/// Responses that a batch's answer may have besides those that were asked for, before it is refused.
const SURPLUS: usize = 100;

impl Client {
    /// A client of the server at this URL.
    ///
    /// # Errors
    ///
    /// When it is not an `http` or `https` URL.
    pub fn new(url: &str) -> Result<Client, HttpUrlError> {
        Client::with_options(url, HttpClientOptions::default())
    }

    /// A client with these options.
    ///
    /// # Errors
    ///
    /// When it is not an `http` or `https` URL.
    pub fn with_options(url: &str, mut options: HttpClientOptions) -> Result<Client, HttpUrlError> {
        let uri = url::parse(url)?;
        let connector = connector(&uri, &options)?;
        #[cfg(feature = "tls")]
        let refusal = connector.refusal();
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_time)
            .http2_only(options.http2)
            .build(connector);
        complete(&mut options.headers);
        let limits = options.limits.clone().with_frame(usize::MAX);
        let inner = Inner {
            http,
            #[cfg(feature = "tls")]
            refusal,
            target: url::target(&uri),
            uri,
            options,
            settings: Settings::default().with_limits(limits),
            next_id: AtomicU64::new(1),
        };
        Ok(Client { inner: Arc::new(inner), service: None })
    }

    /// Passes the notifications in event streams to this service, one after the
    /// other and before what follows them. By default they are dropped.
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Client {
        self.service = Some(Arc::new(service));
        self
    }

    /// Sends this body as it is, with these headers only, and gives the response as soon as its head is there. The caller limits
    /// the time.
    pub(super) async fn pass(
        &self,
        mut headers: HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(text, None);
        if let Some(agent) = self.inner.options.headers.get(header::USER_AGENT) {
            headers.entry(header::USER_AGENT).or_insert_with(|| agent.clone());
        }
        *request.headers_mut() = headers;
        self.inner.post(request).await
    }

    /// Sends this body as it is, with these headers instead of those of the client that have the same names, and gives the response as
    /// soon as its head is there. The caller limits the time.
    pub(super) async fn request_with(
        &self,
        method: Method,
        headers: HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(text, None);
        *request.method_mut() = method;
        for (name, value) in &headers {
            request.headers_mut().insert(name, value.clone());
        }
        self.inner.post(request).await
    }

    /// Asks for what is at the URL, and gives the response as soon as its head is there. The caller limits the time.
    pub(super) async fn get(&self) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(Bytes::new(), None);
        *request.method_mut() = Method::GET;
        request.headers_mut().remove(header::CONTENT_TYPE);
        self.inner.post(request).await
    }
}

fn connector(uri: &Uri, options: &HttpClientOptions) -> Result<Connector, HttpUrlError> {
    let connector = Connector::new(options);
    if uri.scheme() != Some(&Scheme::HTTPS) {
        return Ok(connector);
    }
    #[cfg(feature = "tls")]
    {
        let tls = match &options.tls {
            Some(tls) => tls.clone(),
            None => ClientTls::load(&ClientFiles::default())
                .map_err(|error| HttpUrlError::Tls(error.to_string()))?,
        };
        Ok(connector.with_tls(tls.for_http(options.http2)))
    }
    #[cfg(not(feature = "tls"))]
    Err(HttpUrlError::Scheme(uri.to_string()))
}

/// Adds the headers that every call has, unless they are given.
fn complete(headers: &mut HeaderMap) {
    const AGENT: &str = concat!("switchboard/", env!("CARGO_PKG_VERSION"));
    let json = HeaderValue::from_static("application/json");
    headers.entry(header::CONTENT_TYPE).or_insert_with(|| json.clone());
    headers.entry(header::ACCEPT).or_insert(json);
    headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
}

impl Service for Client {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (inner, call, service) = (Arc::clone(&self.inner), call.clone(), self.service.clone());
        ReplyFuture::pending(async move { inner.call(&call, service).await.unwrap_or_else(failure) })
    }
}

impl Remote for Client {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (inner, service) = (Arc::clone(&self.inner), self.service.clone());
        Box::pin(async move { inner.batch(&calls, service).await })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("target", &self.inner.target).finish_non_exhaustive()
    }
}

impl Inner {
    /// Sends a call or notification and reads what is answered, before its deadline.
    async fn call(&self, call: &Call, service: Option<Arc<dyn Service>>) -> Result<Reply, CallError> {
        let (id, is_notification) = (self.take_ids(1), call.is_notification());
        let wants_stream = call.cx.wants_stream() && !is_notification;
        let wants_progress = self.asks_for_progress(call);
        let mut text =
            Vec::with_capacity(96 + call.params.as_ref().map_or(0, |params| params.as_bytes().len()));
        self.encode(&mut text, call, id);
        let mut request = self.request(text.into(), call.cx.deadline);
        metadata::add(request.headers_mut(), &call.cx.outgoing_metadata(&self.options.inherit));
        if wants_stream || wants_progress {
            request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(sse::ACCEPT));
        }
        let check = if wants_stream || wants_progress {
            None
        } else {
            signed::seal(self.options.seal.as_ref(), &mut request)?
        };
        let limit = self.options.limits.reply;
        let exchange = async {
            let response = self.post(request).await?;
            match (is_notification, is_events(&response)) {
                // It says nothing, and may say so for long.
                (true, true) => Ok(Reply::value(Json::NULL)),
                (true, false) => self.receive(response, limit, check).await?.notified(&self.settings),
                (false, false) => self.receive(response, limit, check).await?.single(id, &self.settings),
                (false, true) => {
                    let mut reading = self.reading(limit, service);
                    reading.notifications.progress = wants_progress.then(|| (Some(id), call.cx.clone()));
                    // Boxed, because they are large and rare.
                    if wants_stream {
                        reading.silence = self.options.silence;
                        let messages = sse::Messages::new(response.into_body(), reading);
                        let check = call.cx.get::<ItemCheck>().cloned();
                        return Ok(Box::pin(parts::open(messages, id, check)).await);
                    }
                    let limit = reading.limit;
                    let messages = sse::Messages::new(response.into_body(), reading);
                    Ok(Box::pin(parts::collect(messages, id, limit)).await)
                }
            }
        };
        self.before(call.cx.deadline, exchange).await
    }

    async fn batch(&self, calls: &[Call], service: Option<Arc<dyn Service>>) -> Vec<Reply> {
        if calls.is_empty() {
            return Vec::new();
        }
        if self.options.version == Version::V1 {
            let error = CallError::Unsupported("version 1.0 has no batches".into());
            return calls.iter().map(|_| failure(error.clone())).collect();
        }
        let first = self.take_ids(calls.len() as u64);
        let mut text = vec![b'['];
        for (call, id) in calls.iter().zip(first..) {
            if text.len() > 1 {
                text.push(b',');
            }
            self.encode(&mut text, call, id);
        }
        text.push(b']');
        let deadline = calls.iter().filter_map(|call| call.cx.deadline).min();
        let mut request = self.request(text.into(), deadline);
        metadata::add(request.headers_mut(), &self.common_metadata(calls));
        let check = match signed::seal(self.options.seal.as_ref(), &mut request) {
            Ok(check) => check,
            Err(error) => return calls.iter().map(|_| failure(error.clone())).collect(),
        };
        let limit = self.options.limits.batch_reply;
        let exchange = async {
            let response = self.post(request).await?;
            if !is_events(&response) {
                return self.receive(response, limit, check).await;
            }
            let status = response.status();
            let reading = self.reading(limit, service);
            let limit = reading.limit;
            let messages = sse::Messages::new(response.into_body(), reading);
            let body = parts::gather(messages, limit).await?;
            Ok(Received { status, body, location: None, metadata: Metadata::default() })
        };
        match self.before(deadline, exchange).await {
            Ok(received) => {
                let is_call: Vec<bool> = calls.iter().map(|call| !call.is_notification()).collect();
                let mut settings = self.settings.clone();
                settings.limits.batch = calls.len() + SURPLUS;
                received.batch(first, &is_call, &settings)
            }
            Err(error) => calls.iter().map(|_| failure(error.clone())).collect(),
        }
    }

    /// The metadata of a batch: what all its calls have. A request has one set of headers.
    fn common_metadata(&self, calls: &[Call]) -> Metadata {
        let each: Vec<_> =
            calls.iter().map(|call| call.cx.outgoing_metadata(&self.options.inherit)).collect();
        let Some((first, rest)) = each.split_first() else { return Metadata::default() };
        let is_common = |name: &str, value: &[u8]| rest.iter().all(|other| other.get(name) == Some(value));
        let common = first.entries().into_iter().filter(|(name, value)| is_common(name, value));
        common.map(|(name, value)| (name, Bytes::copy_from_slice(value))).collect()
    }

    /// Identifiers that no other call of this client has (J2-22), the first of so many.
    fn take_ids(&self, count: u64) -> u64 {
        self.next_id.fetch_add(count, Ordering::Relaxed)
    }

    fn encode(&self, out: &mut Vec<u8>, call: &Call, id: u64) {
        let version = self.options.version;
        let (id, method, params) = (Id::from(id), &call.method, call.params.as_ref());
        let sent_id = (!call.is_notification()).then_some(&id);
        let members = Members::to_send(&call.cx, &Outgoing::new(version, sent_id, method, params));
        let members = members.as_deref();
        if call.is_notification() {
            return encode_notification(out, version, method, params, members);
        }
        let with_progress = self.asks_for_progress(call).then(|| asking_for_progress(members, call));
        let members = with_progress.as_ref().or(members);
        encode_request(out, version, &id, method, params, members);
    }

    /// Whether to ask for progress. Not in 1.0, whose params are arrays.
    fn asks_for_progress(&self, call: &Call) -> bool {
        call.cx.wants_progress() && !call.is_notification() && self.options.version == Version::V2
    }

    /// Does this before the deadline, or within the time that every call has.
    async fn before<T>(
        &self,
        deadline: Option<Instant>,
        exchange: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let deadline = deadline.unwrap_or_else(|| after(Instant::now(), self.options.call_time));
        tokio::time::timeout_at(deadline, exchange).await.unwrap_or(Err(CallError::TimedOut))
    }

    /// A request with this body, which says until when the caller waits if it does.
    fn request(&self, text: Bytes, deadline: Option<Instant>) -> Request<Sent> {
        let mut request = Request::new(Sent::new(text));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.options.headers.clone();
        let told = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_millis());
        if let Some(value) = told.and_then(|told| HeaderValue::from_str(&told.to_string()).ok()) {
            request.headers_mut().insert(TIMEOUT.clone(), value);
        }
        if self.options.http2 {
            *request.version_mut() = http::Version::HTTP_2;
        }
        request
    }

    /// Sends a request. The caller limits the time.
    async fn post(&self, mut request: Request<Sent>) -> Result<Response<Incoming>, CallError> {
        if let Some(tap) = &self.options.tap {
            self.add_known(&mut request);
            let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
            let head = redact::request(request.method(), path, request.headers());
            request.body_mut().show(tap, head);
        }
        let answered = match self.options.http2 {
            true => Some(self.http.request(request).await),
            false => interim::bounded(request, |request| self.http.request(request)).await,
        };
        let Some(response) = answered else {
            let target = &self.target;
            let why = format!("{target} sent more than {} interim responses and no final one", interim::MOST);
            return Err(CallError::Transport(why.into()));
        };
        let response = response.map_err(|error| {
            #[cfg(feature = "tls")]
            if let Some(refused) = explained::refused(&error, &self.refusal) {
                return refused;
            }
            explained::failed(&error, &self.target, self.options.connect_time)
        })?;
        if let Some(tap) = &self.options.tap {
            let head = redact::response(response.status(), response.headers());
            tap.show(Direction::Received, Wire::Carrier(&head));
        }
        Ok(response)
    }

    /// Adds the headers that would be added on the way, so that the tap sees them too.
    fn add_known(&self, request: &mut Request<Sent>) {
        let length = HttpBody::size_hint(request.body()).exact().unwrap_or(0);
        let host = self.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        let headers = request.headers_mut();
        // HTTP/2 has it elsewhere.
        if let Some(host) = host.filter(|_| !self.options.http2) {
            headers.entry(header::HOST).or_insert(host);
        }
        headers.entry(header::CONTENT_LENGTH).or_insert(length.into());
    }

    /// Reads a response to its end, and checks it. The caller limits the time.
    async fn receive(
        &self,
        response: Response<Incoming>,
        limit: usize,
        check: Option<SealedRequest>,
    ) -> Result<Received, CallError> {
        let status = response.status();
        let headers = check.as_ref().map(|_| response.headers().clone());
        let location = response.headers().get(header::LOCATION).filter(|_| status.is_redirection());
        let location = location.and_then(|to| to.to_str().ok()).map(str::to_owned);
        let metadata = metadata::select(response.headers(), &self.options.reply_metadata);
        let limit = limit.saturating_add(ENVELOPE);
        let body = body::read(response.into_body(), limit, Duration::MAX, Share::default()).await;
        let body = body.map_err(|unread| match unread {
            Unread::TooLarge | Unread::NoRoom => parts::too_large(limit),
            Unread::TooSlow => CallError::TimedOut,
            Unread::Broken => {
                CallError::Closed(format!("{} closed it in the middle of the response", self.target).into())
            }
        })?;
        if let Some(tap) = self.options.tap.as_ref().filter(|_| !body.is_empty()) {
            tap.show(Direction::Received, Wire::Message(&body));
        }
        if let (Some(check), Some(headers)) = (check, headers) {
            signed::check(check, status, headers, &body)?;
        }
        Ok(Received { status, body, location, metadata })
    }

    /// How an event stream is read of which all has to come before a deadline.
    fn reading(&self, limit: usize, service: Option<Arc<dyn Service>>) -> Reading {
        Reading {
            settings: self.settings.clone(),
            limit: limit.saturating_add(ENVELOPE),
            silence: Duration::MAX,
            notifications: Notifications { profile: self.settings.profile.clone(), progress: None, service },
            tap: self.options.tap.clone(),
        }
    }
}

/// Whether a response is an event stream with an answer.
pub(super) fn is_events(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    response.status().is_success() && kind.is_some_and(media::is_events)
}

/// The members of a request that asks for progress. An event stream would otherwise be taken as the wish for a stream of
/// items, by methods that can answer with one value as well.
fn asking_for_progress(members: Option<&Json>, call: &Call) -> Json {
    let mut text = match members.map(Json::as_str).and_then(|object| object.strip_suffix('}')) {
        Some("{") | None => "{".to_owned(),
        Some(inside) => format!("{inside},"),
    };
    text.push_str(if call.cx.wants_stream() {
        "\"progress\":true}"
    } else {
        "\"progress\":true,\"stream\":false}"
    });
    Json::parse(text).expect("members of an object are an object")
}
