//! The head of a request: the few headers that matter here.

use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::media::{self, Wanted};

/// The headers that decide, found in one walk over all.
#[derive(Default)]
pub(super) struct Head<'a> {
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) origin: Option<&'a HeaderValue>,
    pub(super) content_type: Option<&'a HeaderValue>,
    accept: Option<&'a HeaderValue>,
    pub(super) has_repeated_host: bool,
    pub(super) has_repeated_origin: bool,
    pub(super) has_repeated_type: bool,
    has_repeated_accept: bool,
    pub(super) is_compressed: bool,
    timeout: Option<&'a HeaderValue>,
}

/// How many milliseconds the caller waits for the response after sending the request, as a whole number.
///
/// It is the deadline of the request's calls. Anything but a whole number is ignored.
pub static TIMEOUT: HeaderName = HeaderName::from_static("switchboard-timeout-ms");

impl<'a> Head<'a> {
    pub(super) fn read(headers: &'a HeaderMap) -> Head<'a> {
        let mut head = Head::default();
        for (name, value) in headers {
            match *name {
                header::HOST => head.has_repeated_host |= head.host.replace(value).is_some(),
                header::ORIGIN => head.has_repeated_origin |= head.origin.replace(value).is_some(),
                header::CONTENT_TYPE => head.has_repeated_type |= head.content_type.replace(value).is_some(),
                header::ACCEPT => head.has_repeated_accept |= head.accept.replace(value).is_some(),
                header::CONTENT_ENCODING => {
                    head.is_compressed |= !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
                }
                // Bodies come as they are or in chunks, and in no other coding (SEC-H-01).
                header::TRANSFER_ENCODING => {
                    head.is_compressed |= !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
                }
                _ if *name == TIMEOUT => head.timeout = Some(value),
                _ => {}
            }
        }
        head
    }

    /// How long the caller waits, if it says so.
    pub(super) fn timeout(&self) -> Option<Duration> {
        timeout(self.timeout?.as_bytes())
    }

    /// How to answer, if there is a way that `Accept` takes.
    pub(super) fn wanted(&self, headers: &HeaderMap) -> Option<Wanted> {
        if self.has_repeated_accept {
            return media::negotiate(headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes));
        }
        media::accept(self.accept.map(HeaderValue::as_bytes))
    }
}

/// Writes a header line of HTTP/1.
pub(crate) fn write_line(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes the header line of HTTP/1 that tells the length of a body.
pub(super) fn write_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"content-length: ");
    // The digits of the largest number.
    let mut digits = [0; 20];
    let (mut first, mut rest) = (digits.len(), length);
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).expect("a digit");
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
    out.extend_from_slice(b"\r\n");
}

/// How long a caller waits that says so with this value of [`TIMEOUT`].
pub(super) fn timeout(value: &[u8]) -> Option<Duration> {
    let number = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Duration::from_millis(number))
}

impl Head<'_> {
    /// Whether an event stream is among what `Accept` takes.
    pub(super) fn takes_events(&self, headers: &HeaderMap) -> bool {
        self.accept.is_none()
            || media::takes_events(headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes))
    }
}

/// The headers that every response has (JH-25, SEC-O-08).
///
/// Two of them are for browsers only. A call by POST gets them only if it has an `Origin`, which browsers send with every one;
/// everything else always gets them.
pub(super) fn first_headers(is_for_browser: bool) -> HeaderMap {
    // With the content's type and length, the date, and room for CORS.
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(header::CACHE_CONTROL, const { HeaderValue::from_static("no-store") });
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, const { HeaderValue::from_static("nosniff") });
    if is_for_browser {
        let policy = const { HeaderName::from_static("cross-origin-resource-policy") };
        headers.insert(policy, const { HeaderValue::from_static("same-origin") });
        let nothing = const { HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'") };
        headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
    }
    headers
}
