//! From a request that wants an event stream to its response.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as HttpBody;
use switchboard_core::events;

use super::super::answer::{RequestScope, refuse};
use super::super::body::{self, Body};
use super::super::fault::Fault;
use super::super::media::Format;
use super::super::rules::RequestOptions;
use super::body::EventBody;
use super::query;
use crate::budget::Share;

/// How a request asks for an event stream.
pub(in super::super) struct Asked {
    /// The query, on a stream path.
    pub(in super::super) query: Option<String>,
    /// Whether the call must stand in the query: by GET, or by POST without a type.
    pub(in super::super) is_in_query: bool,
}

impl Asked {
    /// The method that is called in the query.
    pub(in super::super) fn method(&self) -> Option<String> {
        self.query.as_deref().and_then(query::method)
    }

    /// The body to answer, and whether it was made of the query.
    fn body(&self, text: Bytes) -> Result<(Bytes, bool), Fault> {
        let Some(query) = &self.query else { return Ok((text, false)) };
        match (text.is_empty(), self.is_in_query) {
            (false, true) => Err(Fault::MediaType),
            (false, false) if query::method(query).is_some() => {
                Err(Fault::BadRequest("a call stands in the query or in the body, and not in both"))
            }
            (false, false) => Ok((text, false)),
            (true, _) => query::request(query).map(|text| (text.into(), true)).map_err(Fault::BadRequest),
        }
    }
}

/// Reads the body and begins the answer.
pub(in super::super) async fn answer<B>(
    scope: impl RequestScope,
    mut incoming: B,
    asked: Asked,
    headers: HeaderMap,
    requested: Option<Box<RequestOptions>>,
    is_http1: bool,
) -> Response<Body>
where
    B: HttpBody + Unpin + Send,
    B::Data: Send,
{
    let rules = scope.rules();
    let limit = rules.settings.limits.frame;
    let share = Share::of(Some(scope.budget()));
    let text = match body::read(&mut incoming, limit, rules.options.body_time, share).await {
        Ok(text) => text,
        Err(unread) => return refuse(&scope, Fault::unread(unread, limit), headers, is_http1),
    };
    let (text, is_query) = match asked.body(text) {
        Ok(body) => body,
        Err(fault) => return refuse(&scope, fault, headers, false),
    };
    let cx = requested.map_or_else(|| scope.cx().clone(), |requested| requested.put_into(scope.cx()));
    let mut events = events(Arc::clone(&rules.service), &text, &cx, Arc::clone(&rules.settings));
    drop(text);
    if !events.is_answered() {
        while poll_fn(|cx| Pin::new(&mut events).poll_next(cx)).await.is_some() {}
        return respond(rules.options.nothing_status, headers, Body::empty());
    }
    let drain_time = rules.settings.limits.drain_time;
    let body = EventBody::new(events, is_query, rules.options.keep_alive, drain_time, scope.stream_guard());
    respond(StatusCode::OK, with_stream(headers), Body::events(body))
}

/// Adds what an event stream says of itself (SSE-01).
fn with_stream(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(header::CONTENT_TYPE, const { Format::Events.value() });
    let uncached = const { HeaderValue::from_static("no-cache, no-store, no-transform") };
    headers.insert(header::CACHE_CONTROL, uncached);
    let buffering = const { HeaderName::from_static("x-accel-buffering") };
    headers.insert(buffering, const { HeaderValue::from_static("no") });
    headers
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
