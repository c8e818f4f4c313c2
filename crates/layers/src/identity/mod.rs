//! Authenticates callers.
//!
//! [`Authentication`] is an [`Admission`](switchboard_core::Admission) and a [`Layer`](switchboard_core::Layer). As an admission it
//! checks the credentials of HTTP requests before their bodies are read, and those of WebSockets before they open. As a layer it checks
//! every call, and takes credentials from messages on transports without headers:
//!
//! | transport | credentials |
//! |---|---|
//! | HTTP, event streams | `Authorization: Bearer TOKEN` |
//! | WebSocket | the same header or the subprotocol `bearer.TOKEN` at the handshake, or `rpc.login` |
//! | TCP, TLS, Unix sockets, stdio | `rpc.login`, or `"metadata": {"authorization": "Bearer TOKEN"}` in each message |
//! | TLS with a client certificate | the certificate, if nothing else is presented |
//! | Unix sockets | the user of the connecting process, if nothing else is presented |
//!
//! Methods of a `#[service]` can take the caller as an argument: `identity: &Identity`, or `Option<&Identity>`.

mod admission;
mod authenticate;
mod credential;
mod failures;
mod layer;
mod tokens;

use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use switchboard_core::{Context, ErrorObject, FromContext, Json};

pub use self::authenticate::{Authenticate, CertificateNames, UnixUsers, Verdict};
pub use self::credential::Credential;
pub use self::layer::{Authentication, LOGIN, WHO_AM_I};
pub use self::tokens::{TokenFileError, Tokens};

/// Who is calling, and how that was proven.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Context, FromContext};
/// use switchboard_layers::identity::{Identity, Proof};
///
/// let mut cx = Context::default();
/// Identity::new("alice", Proof::Token).with_roles(["admin"]).attach(&mut cx);
/// assert_eq!(Identity::from_context(&cx).unwrap().subject, "alice");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the caller.
    pub subject: String,
    /// How the caller proved it.
    pub proof: Proof,
    /// The program that acts for the caller, if the credential names one.
    pub agent: Option<String>,
    /// The roles of the caller.
    pub roles: Vec<String>,
    /// What the credential was issued for.
    pub scopes: Vec<String>,
    /// Everything else that the credential says, as a JSON object.
    pub claims: Option<Json>,
    /// When the credential expires.
    pub expires: Option<SystemTime>,
}

/// How a caller proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Proof {
    /// A token that the server knows.
    Token,
    /// A client certificate, checked by TLS.
    Certificate,
    /// The user of the process at the other end of a Unix socket.
    UnixUser,
    /// A signature of the message.
    Signature,
}

impl Identity {
    /// A caller with this name.
    #[must_use]
    pub fn new(subject: impl Into<String>, proof: Proof) -> Identity {
        let (roles, scopes) = (Vec::new(), Vec::new());
        Identity { subject: subject.into(), proof, agent: None, roles, scopes, claims: None, expires: None }
    }

    /// The same caller with these roles.
    #[must_use]
    pub fn with_roles<R: Into<String>>(mut self, roles: impl IntoIterator<Item = R>) -> Identity {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// The same caller with these scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Identity {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The same caller, with this program acting for it.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<String>) -> Identity {
        self.agent = Some(agent.into());
        self
    }

    /// The same caller, with a credential that expires at this time.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Identity {
        self.expires = Some(expires);
        self
    }

    /// Whether the credential has expired.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }

    /// Attaches the identity to a context, so that inner layers and handlers see it.
    pub fn attach(self, cx: &mut Context) {
        cx.insert(Attached(Arc::new(self)));
    }
}

/// An identity in a context or in a session. Shared, because every call of a caller has the same.
#[derive(Clone)]
pub(crate) struct Attached(pub(crate) Arc<Identity>);

impl FromContext for Identity {
    fn from_context(cx: &Context) -> Option<&Identity> {
        cx.get::<Attached>().map(|attached| &*attached.0)
    }

    fn missing() -> ErrorObject {
        ErrorObject::unauthorized()
    }
}
