//! The document of an API, fetched by GET (OR-33).

use bytes::Bytes;
use http::header;
use http::request::Parts;
use http::{Method, Response};
use switchboard_core::codec::{self, Incoming, Message, Outcome};
use switchboard_core::{Answer, Context, Json};

use super::super::body::Body;
use super::super::fault::Fault;
use super::super::media::Format;
use super::super::rules::Rules;
use super::{Guarded, Route, RouteFuture};

const REQUEST: Bytes = Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"method":"rpc.discover"}"#);

/// Answers a GET with the document of the API, by calling `rpc.discover` through all layers like any call. The usual path is
/// `/openrpc.json`.
///
/// A caller that `rpc.discover` refuses gets 404: whether there is a document may be a secret too. Pages of other sites can make
/// browsers fetch it, but cannot read the answer.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{DocumentRoute, Options};
///
/// let options = Options::default().route("/openrpc.json", DocumentRoute);
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
            Outcome::Value(document) => Some(document),
            _ => None,
        },
        _ => None,
    }
}
