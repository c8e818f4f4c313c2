//! From a request for an event stream to its response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use switchboard_core::{Delivery, First, Input};

use super::super::body::Body;
use super::super::fault::Fault;
use super::super::head::Head;
use super::super::media::{self, Format, Wanted};
use super::super::signed::{self, SIGNATURE_INPUT};
use super::super::sse::{EventBody, query};
use super::{Guarded, Route, RouteFuture};

/// Answers calls with event streams, whatever `Accept` prefers: with POST, or with GET and the call in the query, see
/// [`sse`](crate::http::sse). The default path is `/rpc/stream`, see [`EndpointOptions`](crate::http::EndpointOptions).
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamRoute;

impl Route for StreamRoute {
    fn answer(&self, request: Guarded) -> RouteFuture {
        match judge(&request) {
            Ok(asked) => RouteFuture::new(answer(request, asked, Wanted::Events)),
            Err(fault) => RouteFuture::ready(request.refuse(fault)),
        }
    }
}

/// Answers calls in the body of a request that takes event streams, on a path of calls.
#[derive(Debug)]
pub(in super::super) struct CallsInParts(pub(in super::super) Wanted);

impl Route for CallsInParts {
    fn answer(&self, request: Guarded) -> RouteFuture {
        RouteFuture::new(answer(request, Asked { query: None, is_in_query: false }, self.0))
    }
}

/// How a request on a stream path asks, or why it is refused.
fn judge(request: &Guarded) -> Result<Asked, Fault> {
    let (rules, parts) = (request.scope().rules(), &request.head);
    let is_off = rules.options.get.is_off();
    let is_get = parts.method == Method::GET && !is_off;
    if !is_get && parts.method != Method::POST {
        return Err(Fault::Method(match (is_off, rules.options.cors.is_some()) {
            (true, _) => rules.allowed(),
            (false, false) => "GET, POST",
            (false, true) => "GET, POST, OPTIONS",
        }));
    }
    let head = Head::read(&parts.headers);
    if !head.takes_events(&parts.headers) {
        return Err(Fault::NotEvents);
    }
    if head.is_compressed {
        return Err(Fault::Encoding);
    }
    let is_json = head.content_type.map(|value| media::is_json(value.as_bytes()));
    // A form of another site has a type; a script's POST has an `Origin`, which was checked.
    if head.has_repeated_type || !is_get && is_json == Some(false) {
        return Err(Fault::MediaType);
    }
    let query = Some(parts.uri.query().unwrap_or_default().to_owned());
    let asked = Asked { query, is_in_query: is_get || is_json.is_none() };
    // A query without a method is refused when it is read.
    if is_get && let Some(method) = asked.method() {
        rules.options.get.check(&method, &parts.headers)?;
    }
    Ok(asked)
}

/// How a request asks for an event stream.
struct Asked {
    /// The query, on a stream path.
    query: Option<String>,
    /// Whether the call must stand in the query: by GET, or by POST without a type.
    is_in_query: bool,
}

impl Asked {
    /// The method that is called in the query.
    fn method(&self) -> Option<String> {
        self.query.as_deref().and_then(query::method)
    }

    /// The body to answer, and whether it was made of the query.
    fn body(&self, text: Bytes) -> Result<(Bytes, bool), Fault> {
        let Some(query) = &self.query else { return Ok((text, false)) };
        match (text.is_empty(), self.is_in_query) {
            (false, true) => Err(Fault::MediaType),
            (false, false) if query::method(query).is_some() => {
                Err(Fault::BadRequest("put the call in the query or in the body, not in both"))
            }
            (false, false) => Ok((text, false)),
            (true, _) => query::request(query).map(|text| (text.into(), true)).map_err(Fault::BadRequest),
        }
    }
}

/// Reads the body and begins the answer.
async fn answer(request: Guarded, asked: Asked, wanted: Wanted) -> Response<Body> {
    let scope = Arc::clone(request.scope());
    let rules = scope.rules();
    let (head, mut cx, body) = request.into_parts();
    let text = match body.read_all(rules.settings().limits.frame).await {
        Ok(text) => text,
        Err(unread) => {
            unread.fault().tell(rules, &cx);
            return unread.response();
        }
    };
    let (text, is_query) = match asked.body(text) {
        Ok(body) => body,
        Err(fault) => {
            fault.tell(rules, &cx);
            return fault.respond(HeaderMap::new(), false);
        }
    };
    let (delivery, format) = match wanted {
        Wanted::Either { whole, prefers_events } => {
            (Delivery::Either { wants_stream: prefers_events }, whole)
        }
        Wanted::Whole(_) | Wanted::Events => (Delivery::Parts, Format::Json),
    };
    let input = head.headers.contains_key(SIGNATURE_INPUT).then(|| {
        let head = signed::head(&head.method, &head.uri, &head.headers, &cx);
        let input = Input::in_parts(text.clone(), head);
        input.attach(&mut cx);
        input
    });
    let mut outputs = rules.engine.outputs(text, &cx, delivery);
    if let First::Whole(whole) = outputs.first().await {
        if let Some(input) = &input {
            return signed::respond_to(rules, input, whole, format, HeaderMap::new());
        }
        return super::super::answer::respond(rules, whole, format, HeaderMap::new());
    }
    let settings = rules.settings();
    let (keep_alive, closing) =
        (rules.options.keep_alive, (cx.session().clone(), settings.limits.drain_time));
    let body = EventBody::new(outputs, is_query, keep_alive, closing, scope.stream_guard())
        .with_tap(settings.tap.clone());
    respond(StatusCode::OK, with_stream(HeaderMap::new()), Body::events(body))
}

/// Adds what an event stream says of itself (SSE-01).
pub(super) fn with_stream(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(header::CONTENT_TYPE, const { Format::Events.value() });
    let uncached = const { HeaderValue::from_static("no-cache, no-store, no-transform") };
    headers.insert(header::CACHE_CONTROL, uncached);
    let buffering = const { HeaderName::from_static("x-accel-buffering") };
    headers.insert(buffering, const { HeaderValue::from_static("no") });
    headers
}

pub(super) fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
