//! From a checked request to its response: hops ① and ⑥ of every call over HTTP.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as HttpBody;
use switchboard_core::{Account, Answer, Context, Extra, Metadata, Refusal, Share};

use super::body::{self, Begun, Body};
use super::fault::Fault;
#[cfg(feature = "ws")]
use super::head::first_headers;
use super::media::Format;
use super::plain;
use super::routes;
use super::rules::{Admitted, Decision, Rules};
use super::server_tap;
use super::signed;
use super::sse::StreamGuard;
use crate::server::Shutdown;

/// What a request in flight holds on to: the rules it follows, its context, and its share of what the server bounds.
pub(super) trait RequestScope: Send + Sync {
    /// The rules it follows.
    fn rules(&self) -> &Rules;
    /// Told that the connection ends after this, with a body unread.
    fn note_closing(&self) {}
    /// The memory that bodies take.
    fn account(&self) -> &Arc<Account>;
    /// Lets the connection go on as a WebSocket with this context, once the response is sent. False if that is not possible now.
    #[cfg(feature = "ws")]
    fn upgrade(&self, cx: Context) -> bool;
    /// Tells when the server shuts down.
    fn shutdown(&self) -> Arc<Shutdown> {
        Arc::default()
    }
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
    let Admitted { mut body, decision, mut cx, admission, headers, special, is_http1 } = admitted;
    async move {
        let rules = scope.rules();
        if let Some(admission) = admission {
            match admission.await {
                Ok(admitted) => cx = admitted,
                Err(refusal) => {
                    // Its body is sent only if it is asked for.
                    let expects = cx.metadata().get("expect").is_some();
                    return Ok(Box::pin(turn_away(
                        &scope, refusal, body, decision, headers, expects, is_http1,
                    ))
                    .await);
                }
            }
        }
        let format = match decision {
            Decision::Calls(format) => format,
            Decision::Route => {
                let answering = routes::answer(scope, body, special, headers, cx, is_http1);
                return Ok(Box::pin(answering).await);
            }
            #[cfg(feature = "ws")]
            Decision::Switch => {
                let is_possible = scope.upgrade(cx.clone());
                return Ok(match is_possible {
                    true => shown(rules, switch(headers)),
                    false => refuse(&scope, &cx, Fault::NoConnection, first_headers(true), is_http1),
                });
            }
            Decision::Preflight => {
                let expects = cx.metadata().get("expect").is_some();
                return Ok(Box::pin(preflight(&scope, body, headers, expects, is_http1)).await);
            }
            Decision::Refused(fault) => {
                let is_suspect = matches!(fault, Fault::BadRequest(_) | Fault::Forbidden(_) | Fault::Connect);
                let closes = is_http1 && (is_suspect || !body.is_end_stream());
                return Ok(refuse(&scope, &cx, fault, headers, closes));
            }
        };
        let limit = rules.settings().limits.frame;
        let mut share = Share::of(scope.account());
        let text = match body::begin(&mut body, limit, &mut share).await {
            Begun::Whole(text) => Ok(text),
            Begun::Part(begun) => body::finish(body, begun, limit, rules.options.body_time, share).await,
            Begun::Unread(unread) => Err(unread),
        };
        let text = match text {
            Ok(text) => text,
            Err(unread) => return Ok(refuse(&scope, &cx, Fault::unread(unread, limit), headers, is_http1)),
        };
        server_tap::received(rules.settings(), &text);
        if special.is_some() {
            let response = Box::pin(signed::exchange(rules, text, special, cx, format, headers)).await;
            return Ok(shown(rules, response));
        }
        let answer = rules.engine.exchange(text, &cx).await;
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
    cx: &Context,
    fault: Fault,
    headers: HeaderMap,
    closes: bool,
) -> Response<Body> {
    if closes {
        scope.note_closing();
    }
    fault.tell(scope.rules(), cx);
    shown(scope.rules(), fault.respond(headers, closes))
}

/// Answers a request that is not admitted.
async fn turn_away<B>(
    scope: &impl RequestScope,
    refusal: Refusal,
    mut body: B,
    decision: Decision,
    headers: HeaderMap,
    expects: bool,
    is_http1: bool,
) -> Response<Body>
where
    B: HttpBody + Unpin + Send + 'static,
    B::Data: Send,
{
    let rules = scope.rules();
    let (format, mut headers) = match decision {
        Decision::Calls(format) => (format, headers),
        #[cfg(feature = "ws")]
        Decision::Switch => (Format::Json, first_headers(true)),
        _ => (Format::Json, headers),
    };
    end_body(scope, &mut body, expects, is_http1, &mut headers).await;
    shown(rules, respond(rules, refusal_answer(refusal), format, headers))
}

/// Deals with a body that is not needed for the answer. A short one is read if it comes soon, so that the connection can be used
/// again. Otherwise the connection closes after the response, which says so. A client that `expects` to be asked for its body
/// does not send it.
pub(super) async fn end_body<B>(
    scope: &(impl RequestScope + ?Sized),
    body: &mut B,
    expects: bool,
    is_http1: bool,
    headers: &mut HeaderMap,
) where
    B: HttpBody + Unpin + Send,
    B::Data: Send,
{
    if !is_http1 || body.is_end_stream() {
        return;
    }
    let is_short = !expects && body.size_hint().exact().is_some_and(|length| length <= plain::SIZE as u64);
    let is_read = is_short && {
        let read = body::read(body, plain::SIZE, plain::BODY_TIME, Share::of(scope.account()));
        read.await.is_ok()
    };
    if !is_read {
        scope.note_closing();
        headers.insert(header::CONNECTION, const { HeaderValue::from_static("close") });
    }
}

/// The answer to a request that is not admitted.
pub(super) fn refusal_answer(refusal: Refusal) -> Answer {
    let mut answer = Answer::refusal(&refusal.error);
    if let Answer::Single { extra, .. } = &mut answer {
        let mut beside = Extra::default();
        let status = refusal.status.and_then(with_body).unwrap_or(StatusCode::FORBIDDEN);
        beside.status = Some(status.as_u16());
        beside.metadata = refusal.metadata;
        *extra = Some(Box::new(beside));
    }
    answer
}

/// The status and the body of the response to what was called, and the headers that the reply asks for.
pub(super) fn outcome(rules: &Rules, answer: Answer) -> (StatusCode, Bytes, ReplyHeaders) {
    match answer {
        Answer::Single { body, code, extra: None } => (rules.options.status.status(code), body, Vec::new()),
        Answer::Single { body, code, extra: Some(extra) } => {
            let status = extra.status.and_then(with_body);
            let status = status.unwrap_or_else(|| rules.options.status.status(code));
            (status, body, reply_headers(rules, &extra.metadata))
        }
        Answer::Batch(text) => (StatusCode::OK, text, Vec::new()),
        _ => (rules.options.nothing_status, Bytes::new(), Vec::new()),
    }
}

/// This status, if a body can follow it.
fn with_body(status: u16) -> Option<StatusCode> {
    let status = StatusCode::from_u16(status).ok()?;
    (status.as_u16() >= 200 && ![204, 205, 304].contains(&status.as_u16())).then_some(status)
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

pub(super) fn respond(
    rules: &Rules,
    answer: Answer,
    format: Format,
    mut headers: HeaderMap,
) -> Response<Body> {
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
async fn preflight<B>(
    scope: &impl RequestScope,
    mut body: B,
    mut headers: HeaderMap,
    expects: bool,
    is_http1: bool,
) -> Response<Body>
where
    B: HttpBody + Unpin + Send,
    B::Data: Send,
{
    let rules = scope.rules();
    end_body(scope, &mut body, expects, is_http1, &mut headers).await;
    headers.insert(header::ALLOW, HeaderValue::from_static(rules.allowed()));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    *response.headers_mut() = headers;
    shown(rules, response)
}
