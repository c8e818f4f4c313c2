//! Requests that are rejected at the HTTP level, before there is a call (JH-20, JH-24).
//!
//! Each gets its status and, in the body, an error object with a `null` identifier.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use switchboard_core::codec;
use switchboard_core::{Answer, Code, Context, ErrorObject};

use super::body::{Body, Unread};
use super::media::Format;
use super::rules::Rules;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The request is not well formed: 400.
    BadRequest(&'static str),
    /// `Host` or `Origin` do not pass: 403.
    Forbidden(&'static str),
    /// Another path: 404.
    NotFound,
    /// Another method: 405, with those that are allowed.
    Method(&'static str),
    /// A CONNECT request: 405.
    Connect,
    /// Nothing that `Accept` would take: 406.
    NotAcceptable,
    /// Nothing that `Accept` would take where there are event streams only: 406.
    NotEvents,
    /// No form of a page that `Accept-Encoding` allows: 406.
    NoCoding,
    /// The path, or the version that was asked for, needs a WebSocket of another kind: 426.
    #[cfg(feature = "ws")]
    Upgrade(&'static str),
    /// The body did not come in time: 408.
    TooSlow,
    /// The bodies of other requests leave no room for this one: 503.
    NoRoom,
    /// The peer does not take the answers to earlier requests: 503.
    Unread,
    /// There are too many connections for one more WebSocket: 503.
    #[cfg(feature = "ws")]
    NoConnection,
    /// The endpoint shuts down: 503.
    ShuttingDown,
    /// The body is longer than this limit: 413.
    TooLarge(usize),
    /// Another media type: 415.
    MediaType,
    /// A compressed body: 415 (JH-29).
    Encoding,
}

impl Fault {
    /// Why a body of at most `limit` bytes was not read.
    pub(super) fn unread(unread: Unread, limit: usize) -> Fault {
        match unread {
            Unread::TooLarge => Fault::TooLarge(limit),
            Unread::TooSlow => Fault::TooSlow,
            Unread::NoRoom => Fault::NoRoom,
            Unread::Broken => Fault::BadRequest("the body is incomplete, or its framing is invalid"),
        }
    }

    /// Tells the observer, if there is one.
    pub(super) fn tell(self, rules: &Rules, cx: &Context) {
        if rules.settings().observer.is_some() {
            rules.engine.refused_by_carrier(cx, &self.error(), self.status().as_u16());
        }
    }

    /// The response, with these headers and those of the fault. `closes` says that the connection must not be used
    /// again, because what follows on it is not known to be a request (SEC-H-02).
    pub(super) fn respond(self, mut headers: HeaderMap, closes: bool) -> Response<Body> {
        if closes {
            headers.insert(header::CONNECTION, const { HeaderValue::from_static("close") });
        }
        match self {
            Fault::Method(allowed) => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
            }
            Fault::Connect => {
                headers.insert(header::ALLOW, const { HeaderValue::from_static("POST") });
            }
            #[cfg(feature = "ws")]
            Fault::Upgrade(_) => {
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, const { HeaderValue::from_static("1") });
            }
            Fault::Encoding => {
                let identity = const { HeaderValue::from_static("identity") };
                headers.insert(header::ACCEPT_ENCODING, identity);
            }
            _ => {}
        }
        headers.insert(header::CONTENT_TYPE, const { Format::Json.value() });
        let answer = Answer::refusal(&self.error());
        let text = answer.body().cloned().unwrap_or_default();
        let mut response = Response::new(Body::new(text));
        *response.status_mut() = self.status();
        *response.headers_mut() = headers;
        response
    }

    fn status(self) -> StatusCode {
        match self {
            Fault::BadRequest(_) => StatusCode::BAD_REQUEST,
            Fault::Forbidden(_) => StatusCode::FORBIDDEN,
            Fault::NotFound => StatusCode::NOT_FOUND,
            Fault::Method(_) | Fault::Connect => StatusCode::METHOD_NOT_ALLOWED,
            Fault::NotAcceptable | Fault::NotEvents | Fault::NoCoding => StatusCode::NOT_ACCEPTABLE,
            Fault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            #[cfg(feature = "ws")]
            Fault::Upgrade(_) => StatusCode::UPGRADE_REQUIRED,
            #[cfg(feature = "ws")]
            Fault::NoConnection => StatusCode::SERVICE_UNAVAILABLE,
            Fault::NoRoom | Fault::Unread | Fault::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Fault::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::MediaType | Fault::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    fn error(self) -> ErrorObject {
        let invalid = |detail: &'static str| ErrorObject::invalid_request(detail);
        match self {
            Fault::BadRequest(detail) => invalid(detail),
            #[cfg(feature = "ws")]
            Fault::Upgrade(detail) => invalid(detail),
            Fault::Forbidden(detail) => ErrorObject::from_code(Code::UNAUTHORIZED).with_detail(detail),
            Fault::NotFound => invalid("nothing is served at this path"),
            Fault::Method(_) => invalid("send calls with POST"),
            Fault::Connect => invalid("CONNECT is not supported; send calls with POST"),
            Fault::NotAcceptable => {
                invalid("`Accept` must allow application/json, application/json-rpc or text/event-stream")
            }
            Fault::NotEvents => invalid("`Accept` must allow text/event-stream for this path"),
            Fault::NoCoding => invalid("`Accept-Encoding` must allow gzip or identity for this page"),
            Fault::TooSlow => ErrorObject::timed_out().with_detail("the body did not arrive in time"),
            Fault::NoRoom => {
                ErrorObject::over_limit("buffers", "too much data is being received at once; try again later")
            }
            Fault::Unread => ErrorObject::over_limit(
                "outbox",
                "read the responses to earlier requests first (limits.outbox)",
            ),
            #[cfg(feature = "ws")]
            Fault::NoConnection => {
                ErrorObject::over_limit("connections", "too many connections; try again later")
            }
            Fault::ShuttingDown => ErrorObject::from_code(Code::SHUTTING_DOWN),
            Fault::TooLarge(limit) => codec::Fault::Frame(limit).into(),
            Fault::MediaType => invalid("`Content-Type` must be application/json, in UTF-8"),
            Fault::Encoding => invalid("compressed bodies are not accepted"),
        }
    }
}
