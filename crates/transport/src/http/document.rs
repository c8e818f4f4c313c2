//! The document of an API, for whoever fetches it with a GET (OR-33).

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Response, StatusCode};
use switchboard_core::codec::{self, Incoming, Message, Outcome};
use switchboard_core::{Answer, Context, Json, exchange};

use super::answer::{RequestScope, refuse};
use super::body::Body;
use super::fault::Fault;
use super::media::Format;
use super::rules::{RequestOptions, Rules};

const REQUEST: Bytes = Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"method":"rpc.discover"}"#);

/// Calls `rpc.discover`, through all layers like any call, and gives what it answers. Whoever gets no answer is told that nothing is
/// here: whether there is a document may be a secret too.
pub(super) async fn answer(
    scope: impl RequestScope,
    mut headers: HeaderMap,
    requested: Option<Box<RequestOptions>>,
) -> Response<Body> {
    let cx = requested.map_or_else(|| scope.cx().clone(), |requested| requested.put_into(scope.cx()));
    let Some(document) = discover(scope.rules(), &cx).await else {
        return refuse(&scope, Fault::NotFound, headers, false);
    };
    headers.insert(header::CONTENT_TYPE, Format::Json.value());
    let mut response = Response::new(Body::new(Bytes::copy_from_slice(document.as_bytes())));
    *response.status_mut() = StatusCode::OK;
    *response.headers_mut() = headers;
    response
}

async fn discover(rules: &Rules, cx: &Context) -> Option<Json> {
    let Answer::Single(text, None) = exchange(&*rules.service, REQUEST, cx, &rules.settings).await else {
        return None;
    };
    match codec::decode(&text, &rules.settings) {
        Ok(Incoming::Single(Message::Response(response))) => match response.outcome {
            Outcome::Value(document) => Some(document),
            _ => None,
        },
        _ => None,
    }
}
