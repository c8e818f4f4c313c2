//! Headers that depend on a whole HTTP message: signatures.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::call_error::CallError;
use crate::metadata::Metadata;

/// The request line of an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// An HTTP request of a client that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// Its request line.
    pub head: &'a RequestHead,
    /// Its headers.
    pub headers: &'a Metadata,
    /// Its body.
    pub body: &'a [u8],
}

/// An HTTP response as a whole.
#[derive(Clone, Copy, Debug)]
pub struct AnswerHead<'a> {
    /// The status.
    pub status: u16,
    /// The value of `Content-Type`, if there is a body.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
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
pub struct SealedRequest {
    /// Headers to add.
    pub headers: Metadata,
    /// Checks the response, with its headers. An error replaces it.
    pub check: Box<CheckAnswer>,
}

/// Checks a response.
type CheckAnswer = dyn FnOnce(&AnswerHead<'_>, &Metadata) -> Result<(), CallError> + Send;

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
