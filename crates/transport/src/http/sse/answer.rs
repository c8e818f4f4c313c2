//! From a request that wants an event stream to its response.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as HttpBody;
use switchboard_core::{Delivery, First};

use super::super::answer::{Held, refuse};
use super::super::body::{self, Body};
use super::super::fault::Fault;
use super::super::media::Format;
use super::super::rules::Kept;
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
    held: impl Held,
    mut incoming: B,
    asked: Asked,
    headers: HeaderMap,
    kept: Option<Box<Kept>>,
    is_http1: bool,
) -> Response<Body>
where
    B: HttpBody + Unpin + Send,
    B::Data: Send,
{
    let rules = held.rules();
    let limit = rules.settings().limits.frame;
    let share = Share::of(Some(held.budget()));
    let text = match body::read(&mut incoming, limit, rules.options.body_time, share).await {
        Ok(text) => text,
        Err(unread) => return refuse(&held, Fault::unread(unread, limit), headers, is_http1),
    };
    let (text, is_query) = match asked.body(text) {
        Ok(body) => body,
        Err(fault) => return refuse(&held, fault, headers, false),
    };
    let cx = kept.map_or_else(|| held.cx().clone(), |kept| kept.put_into(held.cx()));
    let mut outputs = rules.engine.outputs(text, &cx, Delivery::Parts);
    // Only what is not answered is not an event stream.
    if let First::Whole(_) = outputs.first().await {
        return respond(rules.options.nothing_status, headers, Body::empty());
    }
    let drain_time = rules.settings().limits.drain_time;
    let body = EventBody::new(outputs, is_query, rules.options.keep_alive, drain_time, held.stay());
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
