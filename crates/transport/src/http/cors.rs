//! CORS: what browsers allow pages of other sites (SEC-O-03, SEC-O-04).

use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::guard::Origins;

/// Lets browsers forward calls from pages of other sites, those whose origin [`Origins`] allows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cors {
    /// The request headers that a page may set: `content-type`, `authorization`, `x-api-key`, those of tracing (`traceparent`,
    /// `tracestate`, `baggage`), of event streams (`last-event-id`) and of MCP.
    pub headers: Vec<HeaderName>,
    /// The response headers that a page may read: `mcp-session-id` and `www-authenticate`.
    pub exposed: Vec<HeaderName>,
    /// How long a browser may cache this: 10 min.
    pub max_age: Duration,
    /// Whether a page may send cookies and other credentials of the browser: no. Never with [`Origins::any`].
    pub credentials: bool,
}

impl Default for Cors {
    fn default() -> Cors {
        let names = |names: &[&'static str]| names.iter().copied().map(HeaderName::from_static).collect();
        Cors {
            headers: names(&[
                "content-type",
                "authorization",
                "x-api-key",
                "traceparent",
                "tracestate",
                "baggage",
                "last-event-id",
                "mcp-protocol-version",
                "mcp-method",
                "mcp-name",
                "mcp-session-id",
            ]),
            exposed: names(&["mcp-session-id", "www-authenticate"]),
            max_age: Duration::from_secs(600),
            credentials: false,
        }
    }
}

impl Cors {
    /// Sets [`headers`](Cors::headers).
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<HeaderName>) -> Cors {
        self.headers = headers;
        self
    }

    /// Sets [`exposed`](Cors::exposed).
    #[must_use]
    pub fn with_exposed(mut self, exposed: Vec<HeaderName>) -> Cors {
        self.exposed = exposed;
        self
    }

    /// Sets [`max_age`](Cors::max_age).
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Cors {
        self.max_age = max_age;
        self
    }

    /// Sets [`credentials`](Cors::credentials).
    #[must_use]
    pub fn with_credentials(mut self, credentials: bool) -> Cors {
        self.credentials = credentials;
        self
    }
}

/// The headers of [`Cors`], written out.
#[derive(Clone, Debug)]
pub(super) struct CorsHeaders {
    is_any: bool,
    has_credentials: bool,
    headers: HeaderValue,
    exposed: Option<HeaderValue>,
    max_age: HeaderValue,
}

impl CorsHeaders {
    pub(super) fn new(cors: &Cors, origins: &Origins) -> CorsHeaders {
        CorsHeaders {
            is_any: origins.is_any(),
            has_credentials: cors.credentials && !origins.is_any(),
            headers: list(&cors.headers),
            exposed: (!cors.exposed.is_empty()).then(|| list(&cors.exposed)),
            max_age: HeaderValue::from(cors.max_age.as_secs()),
        }
    }

    /// Adds what a response says. `origin` is that of the request, and has passed the guard.
    pub(super) fn add(&self, headers: &mut HeaderMap, origin: Option<HeaderValue>, is_preflight: bool) {
        if !self.is_any {
            headers.insert(header::VARY, const { HeaderValue::from_static("origin") });
        }
        let Some(origin) = origin else { return };
        let allowed = if self.is_any { const { HeaderValue::from_static("*") } } else { origin };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if self.has_credentials {
            let yes = const { HeaderValue::from_static("true") };
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
        if is_preflight {
            self.add_permissions(headers);
        } else if let Some(exposed) = &self.exposed {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone());
        }
    }

    /// Writes the headers that [`add`](CorsHeaders::add) adds to the response to a call.
    pub(super) fn write(&self, origin: Option<&[u8]>, out: &mut Vec<u8>) {
        let mut line = |name: &str, value: &[u8]| {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        };
        if !self.is_any {
            line("vary", b"origin");
        }
        let Some(origin) = origin else { return };
        line("access-control-allow-origin", if self.is_any { b"*" } else { origin });
        if self.has_credentials {
            line("access-control-allow-credentials", b"true");
        }
        if let Some(exposed) = &self.exposed {
            line("access-control-expose-headers", exposed.as_bytes());
        }
    }

    fn add_permissions(&self, headers: &mut HeaderMap) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, const { HeaderValue::from_static("POST") });
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, self.headers.clone());
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, self.max_age.clone());
    }
}

fn list(names: &[HeaderName]) -> HeaderValue {
    let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
    HeaderValue::try_from(names.join(", ")).expect("header names make a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    // SEC-O-03
    #[test]
    fn a_star_never_comes_with_credentials() {
        let cors = Cors { credentials: true, ..Cors::default() };
        let mut headers = HeaderMap::new();
        let origin = Some(HeaderValue::from_static("https://a.example"));
        CorsHeaders::new(&cors, &Origins::any()).add(&mut headers, origin.clone(), false);
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert!(!headers.contains_key("access-control-allow-credentials"));

        headers.clear();
        let listed = Origins::only(["https://a.example"]).unwrap();
        CorsHeaders::new(&cors, &listed).add(&mut headers, origin, false);
        assert_eq!(headers["access-control-allow-origin"], "https://a.example");
        assert_eq!(headers["access-control-allow-credentials"], "true");
        assert_eq!(headers["vary"], "origin");
    }
}
