//! From a request that was looked at to its response: hops ① and ⑥ of every call over HTTP.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as HttpBody;
use switchboard_core::{Answer, Context, Metadata};

use super::body::{self, Begun, Body};
use super::fault::Fault;
use super::media::Format;
use super::routes;
use super::rules::{Admitted, Decision, RequestOptions, Rules};
use super::server_tap;
use super::sse::StreamGuard;
use crate::budget::{Budget, Share};

/// What a request under way holds on to: the rules it follows, its context, and its share of what the server bounds.
pub(super) trait RequestScope: Send + Sync {
    /// The rules it follows.
    fn rules(&self) -> &Rules;
    /// The context of its calls.
    fn cx(&self) -> &Context;
    /// Told that the connection ends after this, with a body unread.
    fn note_closing(&self) {}
    /// What bounds the bodies of all connections together.
    fn budget(&self) -> &Arc<Budget>;
    /// What an answer that is not done with its response holds on to.
    fn stream_guard(&self) -> StreamGuard {
        StreamGuard::default()
    }
}

/// Reads the body, runs the calls, and makes a response of their answer.
///
/// Written as one flat block over the parts of the request: what is moved into an inner future is kept, and copied,
/// twice. This one is copied for every request.
pub(super) fn answer<B>(
    scope: impl RequestScope + 'static,
    admitted: Admitted<B>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send
where
    B: HttpBody + Unpin + Send + 'static,
    B::Data: Send,
{
    let Admitted { mut body, decision, headers, requested, route, is_http1 } = admitted;
    async move {
        let rules = scope.rules();
        let format = match decision {
            Decision::Calls(format) => format,
            Decision::Route => {
                let route = *route.expect("the decision for a route names it");
                let answering = routes::answer(scope, body, route, headers, requested, is_http1);
                return Ok(Box::pin(answering).await);
            }
            #[cfg(feature = "ws")]
            Decision::Switch => return Ok(shown(rules, switch(headers))),
            Decision::Preflight => return Ok(shown(rules, preflight(rules, headers))),
            Decision::Refused(fault) => {
                let is_suspect = matches!(fault, Fault::BadRequest(_) | Fault::Forbidden(_) | Fault::Connect);
                let closes = is_http1 && (is_suspect || !body.is_end_stream());
                return Ok(refuse(&scope, fault, headers, closes));
            }
        };
        let limit = rules.settings().limits.frame;
        let mut share = Share::of(Some(scope.budget()));
        let text = match body::begin(&mut body, limit, &mut share).await {
            Begun::Whole(text) => Ok(text),
            Begun::Part(begun) => body::finish(body, begun, limit, rules.options.body_time, share).await,
            Begun::Unread(unread) => Err(unread),
        };
        let text = match text {
            Ok(text) => text,
            Err(unread) => return Ok(refuse(&scope, Fault::unread(unread, limit), headers, is_http1)),
        };
        server_tap::received(rules.settings(), &text);
        let answer = match requested {
            None => rules.engine.exchange(text, scope.cx()).await,
            Some(requested) => Box::pin(with_options(rules, text, scope.cx(), *requested)).await,
        };
        Ok(shown(rules, respond(rules, answer, format, headers)))
    }
}

/// The same response, seen by the tap if there is one.
#[inline(always)]
fn shown(rules: &Rules, response: Response<Body>) -> Response<Body> {
    server_tap::response(rules.settings(), &response);
    response
}

pub(super) fn refuse(
    scope: &impl RequestScope,
    fault: Fault,
    headers: HeaderMap,
    closes: bool,
) -> Response<Body> {
    if closes {
        scope.note_closing();
    }
    shown(scope.rules(), fault.respond(headers, closes))
}

/// Runs the calls in a context that knows what the head of the request said.
async fn with_options(rules: &Rules, text: Bytes, cx: &Context, requested: RequestOptions) -> Answer {
    rules.engine.exchange(text, &requested.put_into(cx)).await
}

/// The status and the body of the response to what was called, and the headers that the reply asks for.
pub(super) fn outcome(rules: &Rules, answer: Answer) -> (StatusCode, Bytes, ReplyHeaders) {
    match answer {
        Answer::Single { body, code, extra: None } => (rules.options.status.status(code), body, Vec::new()),
        Answer::Single { body, code, extra: Some(extra) } => {
            let status = extra.status.and_then(|status| StatusCode::from_u16(status).ok());
            // Only a status that a body can follow.
            let has_body =
                |status: &StatusCode| status.as_u16() >= 200 && ![204, 205, 304].contains(&status.as_u16());
            let status = status.filter(has_body);
            let status = status.unwrap_or_else(|| rules.options.status.status(code));
            (status, body, reply_headers(rules, &extra.metadata))
        }
        Answer::Batch(text) => (StatusCode::OK, text, Vec::new()),
        _ => (rules.options.nothing_status, Bytes::new(), Vec::new()),
    }
}

/// Headers that a reply asks for.
pub(super) type ReplyHeaders = Vec<(HeaderName, HeaderValue)>;

/// What of the metadata of a reply becomes headers.
fn reply_headers(rules: &Rules, metadata: &Metadata) -> ReplyHeaders {
    let allowed = &rules.options.reply_headers;
    let entries = metadata.entries().into_iter();
    let headers = entries.filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok().filter(|name| allowed.contains(name))?;
        Some((name, HeaderValue::from_bytes(value).ok()?))
    });
    headers.collect()
}

fn respond(rules: &Rules, answer: Answer, format: Format, mut headers: HeaderMap) -> Response<Body> {
    let (status, text, beside) = outcome(rules, answer);
    if !text.is_empty() {
        headers.insert(header::CONTENT_TYPE, format.value());
    }
    for (name, value) in beside {
        headers.append(name, value);
    }
    let mut response = Response::new(Body::new(text));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The answer after which the connection is a WebSocket.
#[cfg(feature = "ws")]
fn switch(headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = headers;
    response
}

/// The answer to a browser that asks what a page may do, and to others that ask what is allowed.
fn preflight(rules: &Rules, mut headers: HeaderMap) -> Response<Body> {
    headers.insert(header::ALLOW, HeaderValue::from_static(rules.allowed()));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    *response.headers_mut() = headers;
    response
}
