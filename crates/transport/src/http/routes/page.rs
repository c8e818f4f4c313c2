//! Pages for browsers, at a path that can also serve calls.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use super::super::body::Body;
use super::super::fault::Fault;
use super::super::media::{self, Coding};
use super::{Guarded, Route, RouteFuture};

/// An HTML page, as a [`Route`].
///
/// It is sent for a GET whose `Accept` prefers `text/html`, as browsers send from the address bar. Other requests for its path
/// are treated as if the page did not exist.
///
/// The headers decide what the page may do. By default it may do nothing, because every response has a
/// restrictive policy.
///
/// # Examples
///
/// ```
/// use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
/// use switchboard_transport::http::{EndpointOptions, Page};
///
/// let policy = HeaderValue::from_static("default-src 'none'; style-src 'self'");
/// let page = Page::new("<!doctype html><title>Hello</title>").with_header(CONTENT_SECURITY_POLICY, policy);
/// let options = EndpointOptions::default().route("/", page);
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    headers: HeaderMap,
    html: Bytes,
    gzip: Option<Bytes>,
}

impl Page {
    /// A page of this HTML in UTF-8.
    #[must_use]
    pub fn new(html: impl Into<Bytes>) -> Page {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, const { HeaderValue::from_static("text/html; charset=utf-8") });
        headers.insert(header::VARY, const { HeaderValue::from_static("accept") });
        Page { headers, html: html.into(), gzip: None }
    }

    /// Adds the same HTML compressed with gzip, for clients whose `Accept-Encoding` accepts it.
    #[must_use]
    pub fn with_gzip(mut self, compressed: impl Into<Bytes>) -> Page {
        self.headers.insert(header::VARY, const { HeaderValue::from_static("accept, accept-encoding") });
        Page { gzip: Some(compressed.into()), ..self }
    }

    /// Adds a header, or replaces its value.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Page {
        self.headers.insert(name, value);
        self
    }
}

impl Route for Page {
    fn takes(&self, head: &Parts) -> bool {
        matches!(head.method, Method::GET | Method::HEAD) && media::prefers_html(lines(head, &header::ACCEPT))
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        let accepted = lines(&request.head, &header::ACCEPT_ENCODING);
        let Some(coding) = media::coding(accepted, self.gzip.is_some()) else {
            return RouteFuture::ready(request.refuse(Fault::NoCoding));
        };
        let compressed = self.gzip.as_ref().filter(|_| coding == Coding::Gzip);
        let mut response = Response::new(Body::new(compressed.unwrap_or(&self.html).clone()));
        *response.headers_mut() = self.headers.clone();
        if compressed.is_some() {
            let gzip = const { HeaderValue::from_static("gzip") };
            response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
        }
        RouteFuture::ready(response)
    }
}

fn lines<'a>(head: &'a Parts, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    head.headers.get_all(name).iter().map(HeaderValue::as_bytes)
}
