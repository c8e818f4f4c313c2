//! Pages for people with a browser, at a path where calls are answered otherwise.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::body::Body;

/// An HTML page that an endpoint shows to browsers.
///
/// It is sent for a GET of its path whose `Accept` prefers `text/html`, as the address bar of a browser has it. Whatever
/// else asks for that path is answered as if there were no page.
///
/// What the page may do is up to the headers it is given; without any it may do nothing at all, because every response
/// has a policy that says so.
///
/// # Examples
///
/// ```
/// use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
/// use switchboard_transport::http::{Options, Page};
///
/// let policy = HeaderValue::from_static("default-src 'none'; style-src 'self'");
/// let page = Page::new("/", "<!doctype html><title>Hello</title>").with_header(CONTENT_SECURITY_POLICY, policy);
/// let options = Options { pages: vec![page], ..Options::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    path: String,
    headers: HeaderMap,
    body: Bytes,
    is_gzip: bool,
}

impl Page {
    /// A page of this HTML in UTF-8.
    #[must_use]
    pub fn new(path: impl Into<String>, html: impl Into<Bytes>) -> Page {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, const { HeaderValue::from_static("text/html; charset=utf-8") });
        headers.insert(header::VARY, const { HeaderValue::from_static("accept") });
        Page { path: path.into(), headers, body: html.into(), is_gzip: false }
    }

    /// A page of HTML that was compressed with gzip. It is sent as it is: every browser reads it, and whoever says that
    /// it does not is answered with 406.
    #[must_use]
    pub fn gzip(path: impl Into<String>, compressed: impl Into<Bytes>) -> Page {
        let mut page = Page::new(path, compressed);
        page.headers.insert(header::CONTENT_ENCODING, const { HeaderValue::from_static("gzip") });
        page.headers.insert(header::VARY, const { HeaderValue::from_static("accept, accept-encoding") });
        Page { is_gzip: true, ..page }
    }

    /// The same page with one more header, or another value of one.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Page {
        self.headers.insert(name, value);
        self
    }

    /// Where it is shown.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is sent, compressed if it was given so.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    pub(super) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// The response, with these headers and those of the page.
    pub(super) fn respond(&self, mut headers: HeaderMap) -> Response<Body> {
        headers.extend(self.headers.clone());
        let mut response = Response::new(Body::new(self.body.clone()));
        *response.status_mut() = StatusCode::OK;
        *response.headers_mut() = headers;
        response
    }
}
