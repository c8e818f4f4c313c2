//! Responses to connections that are not served, written by hand: hyper is not involved yet.

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use switchboard_core::{Answer, ErrorObject};

use super::head::write_line;

/// A whole response of HTTP/1.1 with this status and error.
pub(super) fn response(status: StatusCode, error: &ErrorObject) -> Bytes {
    with_headers(status, &[], Answer::refusal(error).body().map_or(&b""[..], |body| body))
}

/// The response where there is no room for another connection now.
pub(super) fn busy(error: &ErrorObject) -> Bytes {
    let retry = [(header::RETRY_AFTER, HeaderValue::from_static("1"))];
    let answer = Answer::refusal(error);
    with_headers(StatusCode::SERVICE_UNAVAILABLE, &retry, answer.body().map_or(&b""[..], |body| body))
}

/// The same with this body and these headers beside the usual ones.
pub(super) fn with_headers(status: StatusCode, headers: &[(HeaderName, HeaderValue)], body: &[u8]) -> Bytes {
    let reason = status.canonical_reason().unwrap_or("Refused");
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n",
        status.as_u16(),
        body.len()
    )
    .into_bytes();
    for (name, value) in headers {
        write_line(&mut text, name, value);
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    Bytes::from(text)
}
