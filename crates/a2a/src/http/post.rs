//! POST: one call, and its answer (A2A-B-01).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode, Uri};
use switchboard_core::codec::{self, Incoming, Message, ResponseOutcome, encode_error};
use switchboard_core::{Answer, Delivery, Engine, ErrorObject, Extra, First, Id, Json, Settings};
use switchboard_transport::http::{Body, Guarded, Route, RouteFuture};

use super::base::Base;
use crate::model::error::{CONTENT_TYPE_NOT_SUPPORTED, SERVER_ERROR, conform, error};
use crate::server::{Activated, EXTENSION, Server, Spoken, Tenants};

/// Answers the methods of an agent at a path, see [`EndpointOptions::route`](switchboard_transport::http::EndpointOptions::route).
/// Cheap to clone.
#[derive(Clone)]
pub struct A2aRoute(Engine);

impl A2aRoute {
    /// A route with default settings.
    #[must_use]
    pub fn new(server: &Server) -> A2aRoute {
        A2aRoute::with(server, Settings::default())
    }

    /// A route with these settings. Their profile is replaced by that of A2A, and admission is up to the HTTP server.
    #[must_use]
    pub fn with(server: &Server, settings: Settings) -> A2aRoute {
        A2aRoute(Engine::new(server.service(), Server::settings(settings)))
    }

    /// A route to several agents, with settings as for [`with`](A2aRoute::with).
    #[must_use]
    pub fn tenants(tenants: &Tenants, settings: Settings) -> A2aRoute {
        A2aRoute(Engine::new(Arc::new(tenants.clone()), Server::settings(settings)))
    }
}

impl Route for A2aRoute {
    fn answer(&self, request: Guarded) -> RouteFuture {
        match request.head.method {
            Method::POST => {
                let engine = self.0.clone();
                RouteFuture::new(async move { answer(&engine, request).await })
            }
            _ => {
                let mut response =
                    refuse(StatusCode::METHOD_NOT_ALLOWED, &ErrorObject::new(SERVER_ERROR, "use POST"));
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
                RouteFuture::ready(response)
            }
        }
    }
}

async fn answer(engine: &Engine, mut request: Guarded) -> Response<Body> {
    let headers = std::mem::take(&mut request.head.headers);
    if !is_json(&headers) {
        let error = error(CONTENT_TYPE_NOT_SUPPORTED, "send application/json", &[]);
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let (mut cx, streams) = (request.cx.clone(), request.event_streams());
    if let Some(version) = version_in(&request.head.uri) {
        cx.insert(Spoken(version));
    }
    let host = request.head.uri.authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
    if let Some(base) = Base::new(&cx, host, request.head.uri.path(), None) {
        cx.insert(base);
    }
    let text = match request.read(usize::MAX).await {
        Ok(text) => text,
        Err(unread) => return unread.response(),
    };
    let activated = Activated::default();
    cx.insert(activated.clone());
    let mut outputs = engine.outputs(text, &cx, Delivery::Either { wants_stream: false });
    let mut response = match outputs.first().await {
        First::Whole(Answer::Single { body, code, extra }) => {
            let body = if code.is_some() { conformed(body, engine.settings()) } else { body };
            whole(body, extra.as_deref())
        }
        First::Whole(Answer::Batch(body)) => whole(body, None),
        First::Whole(_) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::ACCEPTED;
            response
        }
        _ => streams.respond(outputs),
    };
    let activated = activated.0.get().and_then(|list| HeaderValue::from_str(list).ok());
    if let Some(activated) = activated.filter(|list| !list.is_empty()) {
        response.headers_mut().insert(HeaderName::from_static(EXTENSION), activated);
    }
    response
}

/// The version in the query, which counts if the header is missing (A2A-B-04).
fn version_in(uri: &Uri) -> Option<String> {
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let version = pairs.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"))?.1;
    Some(version.to_owned())
}

fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = essence.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// An error of the engine as this protocol writes it; others conform already (A2A-E-01).
fn conformed(body: Bytes, settings: &Settings) -> Bytes {
    let Ok(Incoming::Single(Message::Response(response))) = codec::decode(&body, settings) else {
        return body;
    };
    match response.outcome {
        ResponseOutcome::Error(error) => error_text(&conform(error), Some(&response.id)),
        _ => body,
    }
}

/// The text of an error response.
fn error_text(error: &ErrorObject, id: Option<&Id>) -> Bytes {
    let mut text = b"{\"jsonrpc\":\"2.0\",\"error\":".to_vec();
    encode_error(&mut text, error);
    text.extend_from_slice(b",\"id\":");
    match id {
        Some(id) => text.extend_from_slice(id.to_string().as_bytes()),
        None => text.extend_from_slice(Json::NULL.as_bytes()),
    }
    text.push(b'}');
    text.into()
}

/// A request of which no message was read.
fn refuse(status: StatusCode, error: &ErrorObject) -> Response<Body> {
    let mut response = whole(error_text(error, None), None);
    *response.status_mut() = status;
    response
}

/// An answer as a whole. Errors are ordinary answers, unless a layer has said another status (A2A-B-08).
fn whole(body: Bytes, extra: Option<&Extra>) -> Response<Body> {
    let mut response = Response::new(Body::new(body));
    let status = extra.and_then(|extra| StatusCode::from_u16(extra.status?).ok());
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in extra.iter().flat_map(|extra| extra.metadata.entries()) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name @ (header::WWW_AUTHENTICATE | header::RETRY_AFTER)), Ok(value)) =
            (name, HeaderValue::from_bytes(value))
        {
            headers.insert(name, value);
        }
    }
    response
}

impl fmt::Debug for A2aRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aRoute").finish_non_exhaustive()
    }
}
