//! Responses to connections that are not served, written by hand: hyper has not seen them yet.

use bytes::Bytes;
use switchboard_core::{Answer, ErrorObject};

/// A whole response of HTTP/1.1 with this status line and error.
pub(super) fn response(status: &str, error: &ErrorObject) -> Bytes {
    let answer = Answer::refusal(error);
    let body = answer.body().map_or(&b""[..], |body| body);
    let mut text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    text.extend_from_slice(body);
    Bytes::from(text)
}
