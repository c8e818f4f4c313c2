//! Requests with a signature over head and body (RFC 9421). Layers verify it; here they get what it covers.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, Uri};
use switchboard_core::{Answer, AnswerHead, Context, Input, Metadata, RequestHead};

use super::answer::respond;
use super::body::Body;
use super::media::Format;
use super::rules::Rules;

/// The field that says what a signature covers.
pub(super) const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// The head of a signed request.
#[cold]
pub(super) fn head(method: &Method, uri: &Uri, headers: &HeaderMap, cx: &Context) -> RequestHead {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let mut head = RequestHead::default();
    head.method = method.as_str().to_owned();
    head.scheme = if cx.origin().transport == "https" { "https" } else { "http" }.to_owned();
    head.authority = uri.authority().map(|authority| authority.as_str()).or(host).unwrap_or("").to_owned();
    head.path = uri.path().to_owned();
    head.query = uri.query().map(str::to_owned);
    head
}

/// Runs the calls of a signed request, and adds the signature of the response.
pub(super) async fn exchange(
    rules: &Rules,
    text: Bytes,
    head: RequestHead,
    mut cx: Context,
    format: Format,
    headers: HeaderMap,
) -> Response<Body> {
    let input = Input::new(text.clone(), Some(head));
    input.attach(&mut cx);
    let answer = rules.engine.exchange(text, &cx).await;
    respond_to(rules, &input, answer, format, headers)
}

/// The response to a signed request.
pub(super) fn respond_to(
    rules: &Rules,
    input: &Arc<Input>,
    answer: Answer,
    format: Format,
    headers: HeaderMap,
) -> Response<Body> {
    let body = answer.body().cloned().unwrap_or_default();
    let mut response = respond(rules, answer, format, headers);
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let sealed =
        input.answer_headers(&AnswerHead { status: response.status().as_u16(), content_type, body: &body });
    add(response.headers_mut(), &sealed);
    response
}

/// Adds the headers of a signature.
pub(super) fn add(headers: &mut HeaderMap, sealed: &Metadata) {
    for (name, value) in sealed.entries() {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            headers.insert(name, value);
        }
    }
}
