//! How a user says yes: a page of the authorization server is opened, and the user is sent back with a code.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::error::AuthError;

/// The result of a step that waits for a user.
pub type UserFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// Shows pages of authorization servers to a user. [`Browser`](super::Browser) opens the browser of this machine; implement it for
/// programs with their own window, or for tests.
pub trait UserAgent: fmt::Debug + Send + Sync + 'static {
    /// Gets ready for a login. If the client is registered with this redirect URI already, the login should use it again.
    fn begin<'a>(&'a self, known: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>>;
}

/// A login that has not begun yet.
pub trait Visit: Send {
    /// Where the user is sent back to: a loopback URL, or an `https` URL of the program.
    fn redirect_uri(&self) -> &str;

    /// Shows this page, and returns the query of the URL that the user is sent back to, without the question mark. An answer whose
    /// parameter `state` is not this one is not for this login.
    fn visit(self: Box<Self>, url: String, state: String) -> UserFuture<'static, String>;
}
