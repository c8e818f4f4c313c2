//! POST: one message, and its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use switchboard_core::{
    Answer, CarrierTrace, Code, Context, Delivery, Engine, ErrorObject, First, Json, Session, TraceContext,
};
use switchboard_transport::http::{Body, Guarded};
use switchboard_transport::server::Shutdown;

use super::alive::Alive;
use super::answer::{self, TRANSPORT, refusal, refuse};
use super::body::streamed;
use super::in_parts::{Control, Events, Place};
use super::message::{Posted, is_json, takes_both};
use super::shared::Lost;
use super::{Endpoint, PROTOCOL_VERSION, SESSION_ID, header, headers};
use crate::model::meta::TRACESTATE;
use crate::model::{RequestMeta, Revision, methods};
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
    join_trace(&mut cx, &posted.meta);
    if is_stateless(&posted, &headers) {
        if posted.method.as_deref() == Some(methods::LISTEN) {
            cx.insert(ShuttingDown(shutdown));
        }
        alone(&endpoint, &headers, &posted, text, cx).await
    } else {
        in_session(&endpoint, &headers, &posted, text, cx).await
    }
}

/// Puts the call into the trace that the message names, which is more precise than that of its request (MCP-B-07).
fn join_trace(cx: &mut Context, meta: &RequestMeta) {
    let text = |value: &Option<Json>| value.as_ref().and_then(|value| value.decode::<String>().ok());
    let Some(parent) = text(&meta.traceparent) else { return };
    let Some(trace) = TraceContext::parse(&parent) else { return };
    let carrier = TraceContext::of(cx.metadata());
    if let Some(carrier) = carrier.filter(|carrier| *carrier != trace) {
        cx.insert(CarrierTrace(carrier));
    }
    *cx.metadata_mut() = trace.instead(cx.metadata());
    if let (Some(state), None) = (text(&meta.tracestate), cx.metadata().get(TRACESTATE)) {
        cx.metadata_mut().insert(TRACESTATE, state);
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
    let in_use = match endpoint.session(id, &cx).await {
        Ok(in_use) => in_use,
        Err(lost) => return answer::lost(&lost, posted.id.as_ref()),
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
    let request = posted.id.as_ref().filter(|_| posted.is_request()).map(Json::detached);
    let place = Place { in_use: Some(in_use), stream: None, request, is_primed: false };
    run(endpoint, engine, place, text, cx, is_batch || posted.is_request()).await
}

/// Begins a session. It exists only if `initialize` succeeded.
async fn begin(endpoint: &Arc<Endpoint>, text: Bytes, cx: Context) -> Response<Body> {
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
    let in_use = endpoint.sessions.add(session, owner, endpoint.shared_sessions.as_ref());
    let Some(in_use) = in_use else { return answer::lost(&Lost::Full, None) };
    let Ok(id) = HeaderValue::from_str(in_use.live().session.id()) else {
        return answer::no_session(None);
    };
    endpoint.publish(in_use.live()).await;
    let mut response = answer::in_session(whole);
    response.headers_mut().insert(HeaderName::from_static(SESSION_ID), id);
    response
}

/// Answers a message of a session. The client may leave meanwhile: what it would have got is kept for it.
async fn run(
    endpoint: &Endpoint,
    engine: &Engine,
    mut place: Place,
    text: Bytes,
    cx: Context,
    expects_answer: bool,
) -> Response<Body> {
    let Some(live) = place.in_use.as_ref().map(|in_use| Arc::clone(in_use.live())) else {
        return answer::no_session(None);
    };
    let control = Arc::<Control>::default();
    let mut cx = cx.with_session(live.session.clone());
    let can_poll = live.revision >= Revision::V2025_11_25;
    place.is_primed = !can_poll;
    if can_poll && expects_answer {
        let control = Arc::clone(&control);
        cx.insert(CloseStream(Arc::new(move |retry| control.close(retry))));
    }
    let outputs = engine.outputs(text, &cx, Delivery::Either { wants_stream: false });
    let keep_alive = endpoint.options.keep_alive;
    let mut events =
        Events { outputs: Some(outputs), place: Some(place), control, alive: Alive::new(keep_alive) };
    match tokio::time::timeout(PATIENCE, events.first()).await {
        Ok(Some(whole)) => {
            // The next request may reach another server.
            endpoint.refresh(&live).await;
            answer::in_session(whole)
        }
        _ => answer::events(streamed(events)),
    }
}
