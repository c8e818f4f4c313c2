//! Responses.

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use switchboard_core::codec::encode_error;
use switchboard_core::{Answer, Code, ErrorObject, Json};
use switchboard_transport::http::Body;

use super::shared::Lost;
use crate::model::error;

/// A refused request, with the identifier of its message if that could be read (MCP-N-10).
pub(super) fn refusal(status: StatusCode, error: &ErrorObject, id: Option<&Json>) -> Response<Body> {
    let mut text = b"{\"jsonrpc\":\"2.0\",\"error\":".to_vec();
    encode_error(&mut text, error);
    text.extend_from_slice(b",\"id\":");
    text.extend_from_slice(id.map_or(b"null", Json::as_bytes));
    text.push(b'}');
    let mut response = json(status, text.into());
    response.extensions_mut().insert(Refusal(error.clone()));
    response
}

/// Why a request was refused; among the extensions of its response.
#[derive(Clone)]
pub(super) struct Refusal(pub(super) ErrorObject);

/// A refused request of which no message was read.
pub(super) fn refuse(status: StatusCode, code: Code, text: &'static str) -> Response<Body> {
    refusal(status, &ErrorObject::new(code, text), None)
}

/// The code of errors of the transport; SDKs use it too.
pub(super) const TRANSPORT: Code = Code(-32000);

pub(super) fn not_allowed() -> Response<Body> {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "use POST, GET or DELETE");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    response
}

/// The session is not there: the client starts anew (MCP-HTTP-12).
pub(super) fn no_session(id: Option<&Json>) -> Response<Body> {
    let error = ErrorObject::new(Code(-32001), "Session not found");
    refusal(StatusCode::NOT_FOUND, &error, id)
}

/// The session cannot be used here.
pub(super) fn lost(lost: &Lost, id: Option<&Json>) -> Response<Body> {
    let text = match lost {
        Lost::Unknown => return no_session(id),
        Lost::Unavailable => {
            "the session may be at another server, and the store of sessions is not available; try again later"
        }
        Lost::Full => "too many sessions are in use; try again later",
    };
    refusal(StatusCode::SERVICE_UNAVAILABLE, &ErrorObject::new(TRANSPORT, text), id)
}

fn json(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// An answer to a request that stands alone, which is there as a whole.
pub(super) fn alone(answer: Answer) -> Response<Body> {
    whole(answer, status_of)
}

/// An answer in a session, which is there as a whole. Errors are ordinary answers there: 404 would say that the session has ended
/// (MCP-HTTP-12).
pub(super) fn in_session(answer: Answer) -> Response<Body> {
    whole(answer, |code| match code {
        Some(Code::PARSE_ERROR | Code::INVALID_REQUEST) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    })
}

fn whole(answer: Answer, status_of: impl FnOnce(Option<Code>) -> StatusCode) -> Response<Body> {
    match answer {
        Answer::Single { body, code, extra } => {
            let given = extra.as_ref().and_then(|extra| extra.status);
            let status = given.and_then(|status| StatusCode::from_u16(status).ok());
            let mut response = json(status.unwrap_or_else(|| status_of(code)), body);
            for (name, value) in extra.iter().flat_map(|extra| extra.metadata.entries()) {
                let header = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value));
                if let (Ok(name @ (header::WWW_AUTHENTICATE | header::RETRY_AFTER)), Ok(value)) = header {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        Answer::Batch(body) => json(StatusCode::OK, body),
        _ => accepted(),
    }
}

/// There is nothing to answer.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The status of an error (MCP-N-09). Errors without one are ordinary answers.
fn status_of(code: Option<Code>) -> StatusCode {
    match code {
        Some(Code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            Code::PARSE_ERROR
            | Code::INVALID_REQUEST
            | error::HEADER_MISMATCH
            | error::MISSING_CAPABILITY
            | error::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// An event stream (MCP-HTTP-16).
pub(super) fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
