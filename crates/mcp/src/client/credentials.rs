//! Credentials of requests over HTTP: added to each request, and told when the server refuses one.

use std::fmt;
use std::pin::Pin;

use http::{HeaderMap, Method, StatusCode};
use switchboard_core::CallError;

/// The result of a method of [`Credentials`].
pub type CredentialsFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

/// Shows a server of MCP over HTTP who sends a request.
///
/// Each request is authorized before it is sent, also when it is sent again. All requests of a client share one value, and many can be
/// in flight at once, so a refusal may be of credentials that have been replaced meanwhile: [`Refusal::sent`] says which were sent.
pub trait Credentials: fmt::Debug + Send + Sync + 'static {
    /// Adds the headers that show who sends this request, such as `Authorization`. It may wait, for example while a token is renewed.
    ///
    /// An error ends the request.
    fn authorize<'a>(&'a self, request: Unsent<'a>) -> CredentialsFuture<'a, ()>;

    /// The server has refused a request, with status 401 or 403. True sends it again, after [`authorize`](Credentials::authorize).
    /// False fails the call because of the refusal, an error because of the error.
    ///
    /// The time that it takes does not count as the call's, so that a user has time to log in.
    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> CredentialsFuture<'a, bool>;

    /// The headers of any other response, before it is read. By default they are ignored.
    fn answered(&self, headers: &HeaderMap) {
        let _ = headers;
    }
}

/// A request that is about to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unsent<'a> {
    /// How it is sent.
    pub method: &'a Method,
    /// The URL of the server, as the user wrote it.
    pub url: &'a str,
    /// Its headers.
    pub headers: &'a mut HeaderMap,
}

/// A response with which a server refuses a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refusal<'a> {
    /// How the request was sent.
    pub method: &'a Method,
    /// The URL of the server, as the user wrote it.
    pub url: &'a str,
    /// The headers that the request had.
    pub sent: &'a HeaderMap,
    /// 401 or 403.
    pub status: StatusCode,
    /// The headers of the response, such as `WWW-Authenticate`, which may occur more than once.
    pub headers: &'a HeaderMap,
    /// How often this request has been refused, 1 for the first time. It is not sent again after [`MOST`](Refusal::MOST) times.
    pub times: usize,
}

impl Refusal<'_> {
    /// How often a request may be refused.
    pub const MOST: usize = 8;
}
