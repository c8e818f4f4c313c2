//! POST: one message, and its answer.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use switchboard_core::{
    Answer, Code, Context, Delivery, Engine, ErrorObject, First, Output, Outputs, Session,
};
use switchboard_transport::http::{Body, Guarded};
use switchboard_transport::server::Shutdown;
use tokio::time::{Instant, Sleep};

use super::answer::{self, TRANSPORT, refusal, refuse};
use super::body::{COMMENT, streamed, write_event};
use super::message::{Posted, is_json, takes_both};
use super::sessions::InUse;
use super::{Endpoint, PROTOCOL_VERSION, SESSION_ID, header, headers};
use crate::model::{Revision, methods};
use crate::server::{SUPPORTED, principal};

/// After how much time without an answer the client gets an event stream, so that it sees that the request is being answered.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends the event stream of an answer early; among the extensions of a call's context.
#[derive(Clone)]
pub(crate) struct CloseStream(pub(crate) Arc<dyn Fn(Duration) + Send + Sync>);

/// Tells a subscription when the server shuts down; among the extensions of a call's context.
#[derive(Clone)]
pub(crate) struct ShuttingDown(pub(crate) Arc<Shutdown>);

/// Answers a POST.
pub(super) async fn answer(endpoint: Arc<Endpoint>, mut request: Guarded) -> Response<Body> {
    let headers = std::mem::take(&mut request.head.headers);
    if !is_json(&headers) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, TRANSPORT, "send application/json");
    }
    if !takes_both(&headers) {
        let text = "accept both application/json and text/event-stream";
        return refuse(StatusCode::NOT_ACCEPTABLE, TRANSPORT, text);
    }
    let (mut cx, shutdown) = (request.cx.clone(), request.shutdown());
    let text = match request.read(usize::MAX).await {
        Ok(text) => text,
        Err(unread) => return unread.response(),
    };
    let posted = match Posted::read(&text) {
        Ok(posted) => posted,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, &error, None),
    };
    if is_stateless(&posted, &headers) {
        if posted.method.as_deref() == Some(methods::LISTEN) {
            cx.insert(ShuttingDown(shutdown));
        }
        alone(&endpoint, &headers, &posted, text, cx).await
    } else {
        in_session(&endpoint, &headers, &posted, text, cx).await
    }
}

/// Whether a message stands alone: the body decides, and the header where the body does not say (MCP-X-06).
fn is_stateless(posted: &Posted, headers: &HeaderMap) -> bool {
    if posted.meta.is_modern() {
        return true;
    }
    let version = header(headers, PROTOCOL_VERSION);
    let is_modern = version.is_some_and(|version| SUPPORTED.iter().any(|known| known.as_str() == version));
    is_modern
        && header(headers, SESSION_ID).is_none()
        && posted.method.as_deref() != Some(methods::INITIALIZE)
}

/// Answers a message that stands alone, in the order of MCP-N-16.
async fn alone(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    posted: &Posted,
    text: Bytes,
    cx: Context,
) -> Response<Body> {
    let bad = |error: &ErrorObject| refusal(StatusCode::BAD_REQUEST, error, posted.id.as_ref());
    if posted.is_batch() || posted.method.is_none() {
        return bad(&ErrorObject::invalid_request("send one request or notification"));
    }
    if posted.is_request() {
        let checked = headers::check_version(headers, posted)
            .and_then(|()| posted.meta.revision(&SUPPORTED))
            .and_then(|_| {
                posted.meta.client_capabilities()?;
                headers::check(headers, posted, &endpoint.shared.snapshot.load().catalog)
            });
        if let Err(error) = checked {
            return bad(&error);
        }
    }
    let mut outputs = endpoint.engine.outputs(text, &cx, Delivery::Either { wants_stream: false });
    match tokio::time::timeout(PATIENCE, outputs.first()).await {
        Ok(First::Whole(whole)) => answer::alone(whole),
        _ => {
            let keep_alive = endpoint.options.keep_alive;
            let events = Events {
                outputs: Some(outputs),
                place: None,
                control: Arc::default(),
                alive: Alive::new(keep_alive),
            };
            answer::events(streamed(events))
        }
    }
}

/// Answers a message of a session, or one that begins a session.
async fn in_session(
    endpoint: &Arc<Endpoint>,
    headers: &HeaderMap,
    posted: &Posted,
    text: Bytes,
    cx: Context,
) -> Response<Body> {
    let bad = |text: &'static str| {
        let error = ErrorObject::new(Code::INVALID_REQUEST, text);
        refusal(StatusCode::BAD_REQUEST, &error, posted.id.as_ref())
    };
    let Some(id) = header(headers, SESSION_ID) else {
        return match posted.method.as_deref() {
            Some(methods::INITIALIZE) if posted.is_request() => begin(endpoint, text, cx).await,
            _ => bad(
                "begin a session with initialize and send its Mcp-Session-Id, or name the protocol version in _meta",
            ),
        };
    };
    let Some(in_use) = endpoint.sessions.find(id, &principal(&cx)) else {
        return answer::no_session(posted.id.as_ref());
    };
    let revision = in_use.live().revision;
    // MCP-HTTP-13
    if header(headers, PROTOCOL_VERSION).is_some_and(|version| version != revision.as_str()) {
        return bad("MCP-Protocol-Version is not the version of the session");
    }
    let is_batch = posted.is_batch();
    if is_batch && revision != Revision::V2025_03_26 {
        return bad("this protocol version has no batches");
    }
    if !is_batch && posted.method.is_none() && !posted.is_response() {
        return bad("the body is not a JSON-RPC message");
    }
    let engine = if is_batch { &endpoint.batching } else { &endpoint.engine };
    let expects_answer = is_batch || posted.is_request();
    run(endpoint, engine, in_use, text, cx, expects_answer).await
}

/// Begins a session. It exists only if `initialize` succeeded.
async fn begin(endpoint: &Endpoint, text: Bytes, cx: Context) -> Response<Body> {
    let owner = principal(&cx);
    let session = Session::stateful(cx.origin().clone(), &endpoint.engine);
    let cx = cx.with_session(session.clone());
    let mut outputs = endpoint.engine.outputs(text, &cx, Delivery::Either { wants_stream: false });
    let First::Whole(whole) = outputs.first().await else {
        return refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::INTERNAL_ERROR,
            "initialize was not answered",
        );
    };
    let has_begun = matches!(whole, Answer::Single { code: None, .. });
    if !has_begun {
        return answer::in_session(whole);
    }
    let id = endpoint.sessions.add(session, owner);
    let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) else {
        return refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            TRANSPORT,
            "too many sessions are in use; try again later",
        );
    };
    let mut response = answer::in_session(whole);
    response.headers_mut().insert(HeaderName::from_static(SESSION_ID), id);
    response
}

/// Answers a message of a session. The client may leave meanwhile: what it would have got is kept for it.
async fn run(
    endpoint: &Endpoint,
    engine: &Engine,
    in_use: InUse,
    text: Bytes,
    cx: Context,
    expects_answer: bool,
) -> Response<Body> {
    let live = Arc::clone(in_use.live());
    let control = Arc::<Control>::default();
    let mut cx = cx.with_session(live.session.clone());
    let can_poll = live.revision >= Revision::V2025_11_25;
    if can_poll && expects_answer {
        let control = Arc::clone(&control);
        cx.insert(CloseStream(Arc::new(move |retry| control.close(retry))));
    }
    let outputs = engine.outputs(text, &cx, Delivery::Either { wants_stream: false });
    let place = Place { in_use: Some(in_use), stream: None, is_primed: !can_poll };
    let keep_alive = endpoint.options.keep_alive;
    let mut events =
        Events { outputs: Some(outputs), place: Some(place), control, alive: Alive::new(keep_alive) };
    match tokio::time::timeout(PATIENCE, events.first()).await {
        Ok(Some(whole)) => answer::in_session(whole),
        _ => answer::events(streamed(events)),
    }
}

/// What ends the stream of an answer before the answer.
#[derive(Default)]
struct Control(Mutex<ControlState>);

#[derive(Default)]
struct ControlState {
    retry: Option<Duration>,
    waker: Option<Waker>,
}

impl Control {
    fn close(&self, retry: Duration) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.retry = Some(retry);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// When the client is to come back, if the stream is to end.
    fn poll(&self, cx: &mut Task<'_>) -> Option<Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waker = Some(cx.waker().clone());
        state.retry.take()
    }
}

/// The place of an answer in its session.
struct Place {
    in_use: Option<InUse>,
    /// The stream of its events, once there is one.
    stream: Option<u32>,
    /// Whether the client has an identifier to come back with (MCP-HTTP-11).
    is_primed: bool,
}

/// An answer as events. Dropped before its end, it cancels the call of a stateless client; the call of a session goes on, and
/// its events are kept.
struct Events {
    outputs: Option<Outputs>,
    place: Option<Place>,
    control: Arc<Control>,
    alive: Alive,
}

impl Events {
    /// The answer as a whole, if it becomes one. None if the stream has to begin.
    async fn first(&mut self) -> Option<Answer> {
        std::future::poll_fn(|cx| {
            let retry = self.control.poll(cx);
            if retry.is_some() {
                // The stream says so.
                self.control.close(retry.unwrap_or_default());
                return Poll::Ready(None);
            }
            let Some(outputs) = &mut self.outputs else { return Poll::Ready(None) };
            let first = std::pin::pin!(outputs.first()).poll(cx);
            match first {
                Poll::Ready(First::Whole(whole)) => {
                    self.outputs = None;
                    Poll::Ready(Some(whole))
                }
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn write(&mut self, out: &mut Vec<u8>, text: &Bytes) {
        match &mut self.place {
            None => write_event(out, None, text),
            Some(place) => {
                let id = place.keep(text);
                write_event(out, id, text);
            }
        }
    }
}

impl Place {
    fn stream(&mut self) -> Option<u32> {
        let live = self.in_use.as_ref()?.live();
        Some(*self.stream.get_or_insert_with(|| live.open_stream(false)))
    }

    fn keep(&mut self, text: &Bytes) -> Option<super::events::EventId> {
        let stream = self.stream()?;
        Some(self.in_use.as_ref()?.live().keep(stream, text))
    }

    fn end(&mut self) {
        if let (Some(in_use), Some(stream)) = (&self.in_use, self.stream) {
            in_use.live().end_stream(stream);
        }
    }

    /// The event that a client can come back with before there is another.
    fn prime(&mut self, out: &mut Vec<u8>, retry: Option<Duration>) {
        let Some(stream) = self.stream() else { return };
        let is_primed = std::mem::replace(&mut self.is_primed, true);
        if !is_primed {
            out.extend_from_slice(format!("id: {stream}-0\n").as_bytes());
        }
        if let Some(retry) = retry {
            out.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
        }
        if !is_primed || retry.is_some() {
            out.extend_from_slice(b"data: \n\n");
        }
    }
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        let mut out = Vec::new();
        if this.outputs.is_none() {
            return Poll::Ready(None);
        }
        let retry = this.control.poll(cx);
        if let Some(place) = &mut this.place
            && (!place.is_primed || retry.is_some())
        {
            place.prime(&mut out, retry);
        }
        if retry.is_some() {
            // The rest is kept for the client.
            this.detach();
            return Poll::Ready(Some(out.into()));
        }
        while out.len() < AT_ONCE {
            let Some(outputs) = &mut this.outputs else { break };
            match Pin::new(outputs).poll_next(cx) {
                Poll::Ready(Some(Output::Message(text, _))) => this.write(&mut out, &text),
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => {
                    this.outputs = None;
                    if let Some(place) = &mut this.place {
                        place.end();
                    }
                    break;
                }
                Poll::Pending => break,
            }
        }
        if out.is_empty() && this.outputs.is_none() {
            return Poll::Ready(None);
        }
        this.alive.poll(cx, &mut out);
        if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(out.into())) }
    }
}

/// How many bytes of events that are there at once go out as one piece.
const AT_ONCE: usize = 16 << 10;

impl Events {
    /// Goes on without the client, if there is a session that keeps what it would have got.
    fn detach(&mut self) {
        let (Some(mut outputs), Some(mut place)) = (self.outputs.take(), self.place.take()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            while let Some(output) = futures_util::StreamExt::next(&mut outputs).await {
                if let Output::Message(text, _) = output {
                    place.keep(&text);
                }
            }
            place.end();
        });
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Sends a comment when nothing else is sent for a while.
pub(super) struct Alive {
    time: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alive {
    pub(super) fn new(time: Duration) -> Alive {
        Alive { time, sleep: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Task<'_>, out: &mut Vec<u8>) {
        let time = self.time;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        if out.is_empty() {
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
            out.extend_from_slice(COMMENT);
        }
        sleep.as_mut().reset(Instant::now() + time);
        let _ = sleep.as_mut().poll(cx);
    }
}
