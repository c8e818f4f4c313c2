//! Any tower HTTP service as a route.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body as HttpBody;
use switchboard_core::{Answer, Code, ErrorObject};
use tower_service::Service;

use super::super::body::Body;
use super::super::media::Format;
use super::guarded::{Guarded, RequestBody};
use super::{Route, RouteFuture};

/// A tower HTTP service, such as an `axum::Router`, as a [`Route`].
///
/// The service sets all headers of its responses. It finds the [`Context`](switchboard_core::Context) of the request
/// among the request's extensions. It cannot upgrade connections.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{EndpointOptions, tower};
///
/// let app: axum::Router = axum::Router::new().route("/app/health", axum::routing::get(|| async { "well" }));
/// let options = EndpointOptions::default().route("/app/*", tower(app));
/// ```
pub fn tower<S>(service: S) -> Tower<S> {
    Tower(service)
}

/// A route made by [`tower()`].
#[derive(Clone)]
pub struct Tower<S>(S);

impl<S, B> Route for Tower<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: fmt::Display + Send,
    S::Future: Send,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn sets_all_headers(&self) -> bool {
        true
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        let mut service = self.0.clone();
        RouteFuture::new(async move {
            let cx = request.cx.clone();
            let mut request = request.into_request();
            request.extensions_mut().insert(cx);
            let answered = match poll_fn(|cx| service.poll_ready(cx)).await {
                Ok(()) => service.call(request).await,
                Err(error) => Err(error),
            };
            match answered {
                Ok(response) => response.map(Body::stream),
                Err(error) => {
                    tracing::error!(%error, "a service at a route failed");
                    failed()
                }
            }
        })
    }
}

fn failed() -> Response<Body> {
    let answer = Answer::refusal(&ErrorObject::from_code(Code::INTERNAL_ERROR));
    let mut response = Response::new(Body::new(answer.body().cloned().unwrap_or_default()));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, const { Format::Json.value() });
    headers.insert(header::CACHE_CONTROL, const { HeaderValue::from_static("no-store") });
    response
}

impl<S> fmt::Debug for Tower<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tower(..)")
    }
}
