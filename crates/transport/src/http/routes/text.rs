//! Texts that a function makes, for GET requests: metrics, health.

use std::fmt;

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::super::body::Body;
use super::{Guarded, Route, RouteFuture};

/// Answers GET requests with a text that a function makes each time.
///
/// # Examples
///
/// ```
/// use http::{HeaderValue, StatusCode};
/// use switchboard_transport::http::{EndpointOptions, TextRoute};
///
/// let plain = HeaderValue::from_static("text/plain");
/// let options = EndpointOptions::default().route("/healthz", TextRoute::new(plain, || (StatusCode::OK, "ok\n".to_owned())));
/// ```
pub struct TextRoute {
    media_type: HeaderValue,
    make: Box<dyn Fn() -> (StatusCode, String) + Send + Sync>,
}

impl TextRoute {
    /// Answers with what the function returns. It must not block.
    pub fn new(
        media_type: HeaderValue,
        make: impl Fn() -> (StatusCode, String) + Send + Sync + 'static,
    ) -> TextRoute {
        TextRoute { media_type, make: Box::new(make) }
    }
}

impl Route for TextRoute {
    fn takes(&self, head: &Parts) -> bool {
        matches!(head.method, Method::GET | Method::HEAD)
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, _: Guarded) -> RouteFuture {
        let (status, text) = (self.make)();
        let mut response = Response::new(Body::new(text));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, self.media_type.clone());
        RouteFuture::ready(response)
    }
}

impl fmt::Debug for TextRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRoute").field("media_type", &self.media_type).finish_non_exhaustive()
    }
}
