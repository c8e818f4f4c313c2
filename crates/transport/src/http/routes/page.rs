//! Pages for browsers, at a path where calls can be answered as well.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use super::super::body::Body;
use super::super::fault::Fault;
use super::super::media;
use super::{Guarded, Route, RouteFuture};

/// An HTML page, as a [`Route`].
///
/// It is sent for a GET whose `Accept` prefers `text/html`, as the address bar of a browser has it. Other requests for its path
/// are treated as if there were no page.
///
/// What the page may do is up to the headers it is given. Without any it may do nothing at all, because every response has a
/// policy that says so.
///
/// # Examples
///
/// ```
/// use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
/// use switchboard_transport::http::{Options, Page};
///
/// let policy = HeaderValue::from_static("default-src 'none'; style-src 'self'");
/// let page = Page::new("<!doctype html><title>Hello</title>").with_header(CONTENT_SECURITY_POLICY, policy);
/// let options = Options::default().route("/", page);
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    headers: HeaderMap,
    body: Bytes,
    is_gzip: bool,
}

impl Page {
    /// A page of this HTML in UTF-8.
    #[must_use]
    pub fn new(html: impl Into<Bytes>) -> Page {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, const { HeaderValue::from_static("text/html; charset=utf-8") });
        headers.insert(header::VARY, const { HeaderValue::from_static("accept") });
        Page { headers, body: html.into(), is_gzip: false }
    }

    /// A page of HTML that was compressed with gzip. It is sent as it is: every browser reads it, and clients that say that they
    /// do not get 406.
    #[must_use]
    pub fn gzip(compressed: impl Into<Bytes>) -> Page {
        let mut page = Page::new(compressed);
        page.headers.insert(header::CONTENT_ENCODING, const { HeaderValue::from_static("gzip") });
        page.headers.insert(header::VARY, const { HeaderValue::from_static("accept, accept-encoding") });
        Page { is_gzip: true, ..page }
    }

    /// Adds a header, or replaces its value.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Page {
        self.headers.insert(name, value);
        self
    }

    /// What is sent, compressed if it was given so.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
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
        if self.is_gzip && !media::takes_gzip(lines(&request.head, &header::ACCEPT_ENCODING)) {
            return RouteFuture::ready(request.refuse(Fault::NotGzip));
        }
        let mut response = Response::new(Body::new(self.body.clone()));
        *response.headers_mut() = self.headers.clone();
        RouteFuture::ready(response)
    }
}

fn lines<'a>(head: &'a Parts, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    head.headers.get_all(name).iter().map(HeaderValue::as_bytes)
}
