//! The document of an API, for GET requests (OR-33).

use bytes::Bytes;
use http::header;
use http::request::Parts;
use http::{Method, Response};
use switchboard_core::codec::{self, Incoming, Message, ResponseOutcome};
use switchboard_core::{Answer, Context, Json};

use super::super::body::Body;
use super::super::fault::Fault;
use super::super::media::Format;
use super::super::rules::Rules;
use super::{Guarded, Route, RouteFuture};

const REQUEST: Bytes = Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"method":"rpc.discover"}"#);

/// Answers a GET with the document of the API, by calling `rpc.discover` through all layers like any call. The recommended path is
/// `/openrpc.json`.
///
/// A caller that `rpc.discover` rejects gets 404: the existence of a document may be a secret too. Pages of other sites can make
/// browsers fetch it, but cannot read the response.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{DocumentRoute, EndpointOptions};
///
/// let options = EndpointOptions::default().route("/openrpc.json", DocumentRoute);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentRoute;

impl Route for DocumentRoute {
    fn takes(&self, head: &Parts) -> bool {
        matches!(head.method, Method::GET | Method::HEAD)
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        RouteFuture::new(async move {
            let Some(document) = discover(request.scope().rules(), &request.cx).await else {
                return request.refuse(Fault::NotFound);
            };
            let mut response = Response::new(Body::new(Bytes::copy_from_slice(document.as_bytes())));
            response.headers_mut().insert(header::CONTENT_TYPE, Format::Json.value());
            response
        })
    }
}

async fn discover(rules: &Rules, cx: &Context) -> Option<Json> {
    let Answer::Single { body: text, code: None, .. } = rules.engine.exchange(REQUEST, cx).await else {
        return None;
    };
    match codec::decode(&text, rules.settings()) {
        Ok(Incoming::Single(Message::Response(response))) => match response.outcome {
            ResponseOutcome::Value(document) => Some(document),
            _ => None,
        },
        _ => None,
    }
}
