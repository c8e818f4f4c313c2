//! Why a login does not succeed.

use switchboard_core::CallError;

/// Why a client gets no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// A URL that the server named is not requested.
    #[error("{url} is not requested: {why}")]
    Forbidden {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A server does not answer, or not as it should.
    #[error("cannot get {url}: {why}")]
    Unusable {
        /// The URL.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// Two names that must be the same are not.
    #[error("{what} is {found:?}, but must be {expected:?}; the server may pretend to be another one")]
    Mismatch {
        /// What has the name.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The authorization server cannot be used by this client.
    #[error("the authorization server {issuer} cannot be used: {why}")]
    Unsupported {
        /// Its issuer.
        issuer: String,
        /// What it lacks.
        why: &'static str,
    },
    /// The authorization server does not know this client, and does not register clients.
    #[error("{0} does not register clients; register one there by hand and give its client ID")]
    NoClient(String),
    /// The authorization server refused.
    #[error("the authorization server refused: {0}")]
    Refused(Fault),
    /// The server wants scopes that were asked for already.
    #[error("the server asks for the scope {0:?} again, which the login did not give")]
    Scope(String),
    /// The server refuses each new token.
    #[error("the server does not accept the token that it asked for")]
    Rejected,
    /// The server needs no login.
    #[error("{0} does not ask for a login")]
    Open(String),
    /// The user was not sent back, or not by the authorization server.
    #[error("the login was not completed: {0}")]
    Unfinished(String),
    /// A key cannot be used.
    #[error("the key cannot be used: {0}")]
    Key(String),
    /// Tokens cannot be kept or read.
    #[error("{0}")]
    Store(String),
    /// The token of a workload or of a user is not there.
    #[error("cannot get the token to log in with: {0}")]
    Source(String),
}

/// What an authorization server says about a request that it refused (RFC 6749, section 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The code, such as `invalid_grant`.
    pub code: String,
    /// An explanation for developers.
    pub description: Option<String>,
}

impl Fault {
    pub(super) fn new(code: &str, description: Option<&str>) -> Fault {
        Fault { code: shown(code), description: description.map(shown) }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.description {
            Some(description) => write!(f, "{} ({description})", self.code),
            None => f.write_str(&self.code),
        }
    }
}

/// A text of another server, for messages: short, and without characters that control a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(200).collect()
}

impl From<AuthError> for CallError {
    fn from(error: AuthError) -> CallError {
        CallError::CannotConnect(error.to_string().into())
    }
}
