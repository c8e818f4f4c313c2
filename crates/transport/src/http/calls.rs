//! What a client does for its calls: writes them, sends them, and reads their responses.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use switchboard_core::codec::{encode_notification, encode_request};
use switchboard_core::{
    Call, CallError, Context, Direction, Id, ItemCheck, Json, Members, Metadata, Outgoing, Reply,
    SealedRequest, Service, Settings, Share, Version, Wire,
};
use tokio::time::{Instant, timeout_at};

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
use super::plain_calls::{Answered, Message, PlainCalls};
use super::redact;
use super::signed;
use super::sse::{self, Reading};
use super::tapped_body::Sent;
use super::timeouts::after;
use crate::parts::{self, Notifications};

/// Bytes that a response may have around its result.
const ENVELOPE: usize = 64 << 10;
/// Responses that a batch's answer may have besides those that were asked for, before it is refused.
const SURPLUS: usize = 100;

/// The calls of a [`Client`](super::Client) and all its clones.
pub(super) struct Calls {
    /// The fast path; none if an option affects every call.
    pub(super) plain: Option<PlainCalls>,
    pub(super) http: legacy::Client<Connector, Sent>,
    #[cfg(feature = "tls")]
    pub(super) refusal: Refusal,
    pub(super) uri: Uri,
    /// Host and port, for messages.
    pub(super) target: String,
    pub(super) options: HttpClientOptions,
    pub(super) settings: Settings,
    pub(super) next_id: AtomicU64,
}

/// What is known about a call when its response comes.
pub(super) struct Asked {
    id: u64,
    is_notification: bool,
    deadline: Option<Instant>,
    /// Receives the notifications in an event stream.
    service: Option<Arc<dyn Service>>,
    /// What only calls that are not plain have. Boxed, because it is large.
    more: Option<Box<More>>,
}

/// What a caller wants besides an answer.
#[derive(Default)]
struct More {
    wants_stream: bool,
    /// Where the progress of the call goes.
    progress: Option<Context>,
    /// Checks the items of its stream.
    item_check: Option<ItemCheck>,
    /// Checks the signature of its response.
    check: Option<SealedRequest>,
}

impl Asked {
    fn new(call: &Call, id: u64, service: Option<Arc<dyn Service>>) -> Asked {
        let (is_notification, deadline) = (call.is_notification(), call.cx.deadline);
        Asked { id, is_notification, deadline, service, more: None }
    }
}

impl Calls {
    /// A call as the fast path sends it; none if its caller wants an event stream.
    pub(super) fn plain_message(
        &self,
        call: &Call,
        service: Option<&Arc<dyn Service>>,
    ) -> Option<(Message, Asked)> {
        let plain = self.plain.as_ref()?;
        if self.wants_events(call) {
            return None;
        }
        let id = self.take_ids(1);
        let metadata = call.cx.outgoing_metadata(&self.options.inherit);
        let message = plain.message(call.cx.deadline, metadata, |out| self.encode(out, call, id));
        Some((message, Asked::new(call, id, service.cloned())))
    }

    /// Sends a call over the fast path and reads what is answered, before its deadline.
    pub(super) async fn call_plainly(&self, message: Message, asked: Asked) -> Result<Reply, CallError> {
        let (deadline, limit) = (self.deadline(asked.deadline), self.options.limits.reply);
        // Only sending is in this future and takes time, so that little of it has to be moved.
        let sending = pin!(self.send(message, limit));
        match timeout_at(deadline, sending).await.unwrap_or(Err(CallError::TimedOut))? {
            Answered::Whole(received) if asked.is_notification => received.notified(&self.settings),
            Answered::Whole(received) => received.single(asked.id, &self.settings),
            // Boxed, because it is large and rare.
            Answered::Begun(response) => {
                let answer = Box::pin(self.answer(response, asked));
                timeout_at(deadline, answer).await.unwrap_or(Err(CallError::TimedOut))
            }
        }
    }

    /// Sends a message over the fast path, or by hyper if it is not plain.
    async fn send(&self, message: Message, limit: usize) -> Result<Answered, CallError> {
        if let Some(plain) = &self.plain
            && let Some(answered) = plain.send(&message, limit.saturating_add(ENVELOPE)).await?
        {
            return Ok(answered);
        }
        // Boxed, because it is large and rare.
        Box::pin(async {
            let metadata = message.metadata.clone();
            let mut request = self.request(message.deadline, message.into_body());
            metadata::add(request.headers_mut(), &metadata);
            self.post(request).await.map(Answered::Begun)
        })
        .await
    }

    /// Sends a call or notification and reads what is answered, before its deadline.
    pub(super) async fn call(
        &self,
        call: &Call,
        service: Option<Arc<dyn Service>>,
    ) -> Result<Reply, CallError> {
        let (id, deadline) = (self.take_ids(1), call.cx.deadline);
        let mut asked = Asked::new(call, id, service);
        let mut text =
            Vec::with_capacity(96 + call.params.as_ref().map_or(0, |params| params.as_bytes().len()));
        self.encode(&mut text, call, id);
        let mut request = self.request(deadline, text.into());
        metadata::add(request.headers_mut(), &call.cx.outgoing_metadata(&self.options.inherit));
        if self.wants_events(call) {
            request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(sse::ACCEPT));
            asked.more = Some(Box::new(More {
                progress: self.asks_for_progress(call).then(|| call.cx.clone()),
                wants_stream: call.cx.wants_stream(),
                item_check: call.cx.get::<ItemCheck>().cloned(),
                check: None,
            }));
        } else if let Some(check) = signed::seal(self.options.seal.as_ref(), &mut request)? {
            asked.more = Some(Box::new(More { check: Some(check), ..More::default() }));
        }
        let exchange = async {
            let response = self.post(request).await?;
            self.answer(response, asked).await
        };
        self.before(deadline, exchange).await
    }

    /// Reads the response to a call. The caller limits the time.
    async fn answer(&self, response: Response<Incoming>, asked: Asked) -> Result<Reply, CallError> {
        let (id, limit) = (asked.id, self.options.limits.reply);
        let More { wants_stream, progress, item_check, check } =
            asked.more.map(|more| *more).unwrap_or_default();
        match (asked.is_notification, is_events(&response)) {
            // It says nothing, and may say so for long.
            (true, true) => Ok(Reply::value(Json::NULL)),
            (true, false) => self.receive(response, limit, check).await?.notified(&self.settings),
            (false, false) => self.receive(response, limit, check).await?.single(id, &self.settings),
            (false, true) => {
                let mut reading = self.reading(limit, asked.service);
                reading.notifications.progress = progress.map(|cx| (Some(id), cx));
                // Boxed, because they are large and rare.
                if wants_stream {
                    reading.silence = self.options.silence;
                    let messages = sse::Messages::new(response.into_body(), reading);
                    return Ok(Box::pin(parts::open(messages, id, item_check)).await);
                }
                let limit = reading.limit;
                let messages = sse::Messages::new(response.into_body(), reading);
                Ok(Box::pin(parts::collect(messages, id, limit)).await)
            }
        }
    }

    pub(super) async fn batch(&self, calls: &[Call], service: Option<Arc<dyn Service>>) -> Vec<Reply> {
        if calls.is_empty() {
            return Vec::new();
        }
        if self.options.version == Version::V1 {
            let error = CallError::Unsupported("version 1.0 has no batches".into());
            return calls.iter().map(|_| failure(error.clone())).collect();
        }
        let first = self.take_ids(calls.len() as u64);
        let deadline = calls.iter().filter_map(|call| call.cx.deadline).min();
        match self.before(deadline, self.exchange_batch(calls, first, deadline, service)).await {
            Ok(received) => {
                let is_call: Vec<bool> = calls.iter().map(|call| !call.is_notification()).collect();
                let mut settings = self.settings.clone();
                settings.limits.batch = calls.len() + SURPLUS;
                received.batch(first, &is_call, &settings)
            }
            Err(error) => calls.iter().map(|_| failure(error.clone())).collect(),
        }
    }

    /// Sends calls with identifiers from `first` on, and reads the response. The caller limits the time.
    async fn exchange_batch(
        &self,
        calls: &[Call],
        first: u64,
        deadline: Option<Instant>,
        service: Option<Arc<dyn Service>>,
    ) -> Result<Received, CallError> {
        let (metadata, limit) = (self.common_metadata(calls), self.options.limits.batch_reply);
        let encode = |text: &mut Vec<u8>| {
            for (call, id) in calls.iter().zip(first..) {
                text.push(if id == first { b'[' } else { b',' });
                self.encode(text, call, id);
            }
            text.push(b']');
        };
        let (response, check) = if let Some(plain) = &self.plain {
            match self.send(plain.message(deadline, metadata, encode), limit).await? {
                Answered::Whole(received) => return Ok(received),
                Answered::Begun(response) => (response, None),
            }
        } else {
            let mut text = Vec::new();
            encode(&mut text);
            let mut request = self.request(deadline, text.into());
            metadata::add(request.headers_mut(), &metadata);
            let check = signed::seal(self.options.seal.as_ref(), &mut request)?;
            (self.post(request).await?, check)
        };
        if !is_events(&response) {
            return self.receive(response, limit, check).await;
        }
        let status = response.status();
        let reading = self.reading(limit, service);
        let limit = reading.limit;
        let messages = sse::Messages::new(response.into_body(), reading);
        let body = parts::gather(messages, limit).await?;
        Ok(Received { status, body, location: None, metadata: Metadata::default() })
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

    /// Whether to ask for an event stream.
    fn wants_events(&self, call: &Call) -> bool {
        (call.cx.wants_stream() && !call.is_notification()) || self.asks_for_progress(call)
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
        timeout_at(self.deadline(deadline), exchange).await.unwrap_or(Err(CallError::TimedOut))
    }

    /// When a call ends that has this deadline, or none.
    fn deadline(&self, deadline: Option<Instant>) -> Instant {
        deadline.unwrap_or_else(|| after(Instant::now(), self.options.call_time))
    }

    /// A request with this body, which says until when the caller waits if it does.
    pub(super) fn request(&self, deadline: Option<Instant>, text: Bytes) -> Request<Sent> {
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
    pub(super) async fn post(&self, mut request: Request<Sent>) -> Result<Response<Incoming>, CallError> {
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
        let response = answered.ok_or_else(|| interim::too_many(&self.target))?;
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
            Unread::Broken => explained::incomplete(&self.target),
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
