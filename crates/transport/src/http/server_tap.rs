//! What a server shows to the [tap](switchboard_core::Settings::tap) of its settings: heads without secrets, bodies and events.
//!
//! A request is shown when it is read, a response when it is handed to the connection, and an event when the connection has room for
//! it. Bodies of responses are shown if they are JSON, not if they are pages or files.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response};
use http_body::Body as HttpBody;
use switchboard_core::{Direction, Settings, Tap, Wire};

use super::body::Body;
use super::media;
use super::redact;

/// Shows the head of a request.
#[inline(always)]
pub(super) fn request<B>(settings: &Settings, request: &Request<B>) {
    if let Some(tap) = &settings.tap {
        show_request(tap, request);
    }
}

/// Shows the body of a request.
#[inline(always)]
pub(super) fn received(settings: &Settings, text: &Bytes) {
    if let Some(tap) = &settings.tap {
        show_message(tap, Direction::Received, text);
    }
}

/// Shows a response.
#[inline(always)]
pub(super) fn response(settings: &Settings, response: &Response<Body>) {
    if let Some(tap) = &settings.tap {
        show_response(tap, response);
    }
}

#[cold]
fn show_request<B>(tap: &Tap, request: &Request<B>) {
    let path = request.uri().path_and_query().map_or("*", |path| path.as_str());
    let head = redact::request(request.method(), path, request.headers());
    tap.show(Direction::Received, Wire::Carrier(&head));
}

#[cold]
fn show_response(tap: &Tap, response: &Response<Body>) {
    let mut headers = response.headers().clone();
    let text = response.body().whole();
    // It would be added on the way.
    if let Some(length) = HttpBody::size_hint(response.body()).exact().filter(|length| *length > 0) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    let head = redact::response(response.status(), &headers);
    tap.show(Direction::Sent, Wire::Carrier(&head));
    let is_json = |value: &HeaderValue| media::is_json(value.as_bytes());
    if let Some(text) = text.filter(|_| headers.get(header::CONTENT_TYPE).is_some_and(is_json)) {
        show_message(tap, Direction::Sent, text);
    }
}

#[cold]
fn show_message(tap: &Tap, direction: Direction, text: &Bytes) {
    if !text.is_empty() {
        tap.show(direction, Wire::Message(text));
    }
}
