//! Requests with a signature over head and body (RFC 9421). Layers verify it; here they get what it covers.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode, Uri};
use switchboard_core::{
    Answer, AnswerHead, CallError, Context, Input, Metadata, OutgoingRequest, RequestHead, SealedRequest,
    SharedSeal,
};

use super::answer::respond;
use super::body::Body;
use super::media::Format;
use super::metadata;
use super::rules::{Rules, Special};
use super::tapped_body::Sent;

/// The field that says what a signature covers.
pub(super) const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// The head of a signed request.
#[cold]
pub(super) fn head(method: &Method, uri: &Uri, headers: &HeaderMap, cx: &Context) -> RequestHead {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let scheme = if cx.origin().transport == "https" { "https" } else { "http" };
    let authority = uri.authority().map(Authority::as_str).or(host).unwrap_or("");
    RequestHead::new(method.as_str(), scheme, authority, uri.path(), uri.query())
}

/// Runs the calls of a signed request, and adds the signature of the response.
pub(super) async fn exchange(
    rules: &Rules,
    text: Bytes,
    special: Option<Box<Special>>,
    mut cx: Context,
    format: Format,
    headers: HeaderMap,
) -> Response<Body> {
    let head = special.and_then(|special| match *special {
        Special::Signed(head) => Some(head),
        Special::Route(_) => None,
    });
    let input = Input::new(text.clone(), head);
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
    let sealed = input.answer_headers(&AnswerHead::new(response.status().as_u16(), content_type, &body));
    add(response.headers_mut(), &sealed);
    response
}

/// Adds the headers to a client's request that depend on the whole of it. Gives what checks the response, if something does.
pub(super) fn seal(
    seal: Option<&SharedSeal>,
    request: &mut Request<Sent>,
) -> Result<Option<SealedRequest>, CallError> {
    let Some(seal) = seal else { return Ok(None) };
    let uri = request.uri();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let scheme = uri.scheme_str().unwrap_or("http");
    let head = RequestHead::new(request.method().as_str(), scheme, authority, uri.path(), uri.query());
    let headers = metadata::of(request.headers().clone());
    let sealed = seal.seal(&OutgoingRequest::new(&head, &headers, request.body().bytes()))?;
    if let Some(sealed) = &sealed {
        add(request.headers_mut(), &sealed.headers);
    }
    Ok(sealed)
}

/// Checks a response to a client's request.
pub(super) fn check(
    sealed: SealedRequest,
    status: StatusCode,
    headers: HeaderMap,
    body: &[u8],
) -> Result<(), CallError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let answer = AnswerHead::new(status.as_u16(), content_type.as_deref(), body);
    (sealed.check)(&answer, &metadata::of(headers))
}

/// Adds the headers of a signature.
fn add(headers: &mut HeaderMap, sealed: &Metadata) {
    for (name, value) in sealed.entries() {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            headers.insert(name, value);
        }
    }
}
