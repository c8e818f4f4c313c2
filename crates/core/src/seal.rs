//! Headers that depend on a whole HTTP message: signatures.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::call_error::CallError;
use crate::metadata::Metadata;

/// The request line of an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestHead {
    /// The HTTP method.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host and the port as the client writes them.
    pub authority: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: Option<String>,
}

impl RequestHead {
    /// A request with this method to a URL with these parts.
    #[must_use]
    pub fn new(method: &str, scheme: &str, authority: &str, path: &str, query: Option<&str>) -> RequestHead {
        RequestHead {
            method: method.to_owned(),
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            path: path.to_owned(),
            query: query.map(str::to_owned),
        }
    }
}

/// An HTTP request of a client that is about to be sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutgoingRequest<'a> {
    /// Its request line.
    pub head: &'a RequestHead,
    /// Its headers.
    pub headers: &'a Metadata,
    /// Its body.
    pub body: &'a [u8],
}

impl<'a> OutgoingRequest<'a> {
    /// A request with these parts.
    #[must_use]
    pub fn new(head: &'a RequestHead, headers: &'a Metadata, body: &'a [u8]) -> OutgoingRequest<'a> {
        OutgoingRequest { head, headers, body }
    }
}

/// An HTTP response as a whole.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AnswerHead<'a> {
    /// The status.
    pub status: u16,
    /// The value of `Content-Type`, if there is a body.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> AnswerHead<'a> {
    /// A response with these parts.
    #[must_use]
    pub fn new(status: u16, content_type: Option<&'a str>, body: &'a [u8]) -> AnswerHead<'a> {
        AnswerHead { status, content_type, body }
    }
}

/// Adds headers to the HTTP requests of a client that depend on the whole request, and checks the responses.
pub trait Seal: Send + Sync + 'static {
    /// The headers to add to a request. None if it is sent as it is.
    ///
    /// # Errors
    ///
    /// If the request must not be sent as it is.
    fn seal(&self, request: &OutgoingRequest<'_>) -> Result<Option<SealedRequest>, CallError>;
}

/// What a request gets.
#[non_exhaustive]
pub struct SealedRequest {
    /// Headers to add.
    pub headers: Metadata,
    /// Checks the response, with its headers. An error replaces it.
    pub check: Box<CheckAnswer>,
}

/// Checks a response.
type CheckAnswer = dyn FnOnce(&AnswerHead<'_>, &Metadata) -> Result<(), CallError> + Send;

impl SealedRequest {
    /// A request with these headers added, whose response is checked like this.
    pub fn new(
        headers: Metadata,
        check: impl FnOnce(&AnswerHead<'_>, &Metadata) -> Result<(), CallError> + Send + 'static,
    ) -> SealedRequest {
        SealedRequest { headers, check: Box::new(check) }
    }
}

impl fmt::Debug for SealedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedRequest").finish_non_exhaustive()
    }
}

/// A shared [`Seal`]. Any seal converts into it with `into()`.
#[derive(Clone)]
pub struct SharedSeal(Arc<dyn Seal>);

impl<S: Seal> From<S> for SharedSeal {
    fn from(seal: S) -> SharedSeal {
        SharedSeal(Arc::new(seal))
    }
}

impl Deref for SharedSeal {
    type Target = dyn Seal;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSeal(..)")
    }
}
