//! Authenticates callers.
//!
//! [`Authentication`] is an [`Admission`](switchboard_core::Admission) and a [`Layer`](switchboard_core::Layer). As an admission it
//! checks the credentials of HTTP requests before their bodies are read, and those of WebSockets before they open. As a layer it checks
//! every call, and takes credentials from messages on transports without headers:
//!
//! | transport | credentials |
//! |---|---|
//! | HTTP, event streams | `Authorization: Bearer TOKEN`, or an API key in `X-API-Key` |
//! | WebSocket | the same headers or the subprotocol `bearer.TOKEN` at the handshake, or `rpc.login` |
//! | TCP, TLS, Unix sockets, stdio | `rpc.login`, or `"metadata": {"authorization": "Bearer TOKEN"}` in each message |
//! | TLS with a client certificate | the certificate, if nothing else is presented |
//! | Unix sockets | the user of the connecting process, if nothing else is presented |
//! | stdio | being the process at the other end, if nothing else is presented |
//!
//! An [`Authenticate`] finds the owner of a credential: [`Tokens`] and [`ApiKeys`] from files, which are read again when they change,
//! `jwt::Jwt` (feature `jwt`), [`CertificateNames`], [`UnixUsers`], [`StdioUser`], or your own. They are asked in their order, and the first
//! that knows the credential decides.
//!
//! When a credential expires, calls get -32002 and streams end. A connection whose caller logged in with it, or opened a WebSocket with it,
//! is closed, unless the caller has called `rpc.login` with a newer one.
//!
//! Methods of a `#[service]` can take the caller as an argument: `identity: &Identity`, or `Option<&Identity>`.

mod admission;
mod authenticate;
mod credential;
mod date;
mod expiry;
mod failures;
mod file;
#[cfg(feature = "jwt")]
#[cfg_attr(docsrs, doc(cfg(feature = "jwt")))]
pub mod jwt;
mod keys;
mod layer;
mod owner;
mod principal;
mod refusal;
mod revoked;
mod tokens;

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use switchboard_core::{Context, ErrorObject, FromContext, Json, PeerCertificate};

pub use self::authenticate::{Authenticate, CertificateNames, StdioUser, UnixUsers, Verdict};
pub use self::credential::Credential;
pub use self::file::{CredentialFileError, Watched};
#[cfg(feature = "signing")]
pub(crate) use self::file::{lines, read_secret};
pub use self::keys::{ApiKeys, NewApiKey};
#[cfg(feature = "signing")]
pub(crate) use self::layer::identify;
pub use self::layer::{Authentication, LOGIN, WHO_AM_I};
pub use self::principal::principal;
pub use self::revoked::{Revocations, Revoked, RevokedError};
pub use self::tokens::Tokens;

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
    /// The [fingerprint](switchboard_core::PeerCertificate::fingerprint) of the client certificate that the credential is bound to, if
    /// it is: [`Authentication`] accepts it only over TLS connections with that certificate (RFC 8705).
    pub bound_to: Option<String>,
}

/// How a caller proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Proof {
    /// A token that the server knows.
    Token,
    /// An API key.
    ApiKey,
    /// A token that an issuer signed.
    Jwt,
    /// A client certificate, checked by TLS.
    Certificate,
    /// The user of the process at the other end of a Unix socket.
    UnixUser,
    /// Being the process at the other end of standard input and output.
    Stdio,
    /// A signature of the message.
    Signature,
}

impl Identity {
    /// A caller with this name.
    #[must_use]
    pub fn new(subject: impl Into<String>, proof: Proof) -> Identity {
        let (roles, scopes) = (Vec::new(), Vec::new());
        Identity {
            subject: subject.into(),
            proof,
            agent: None,
            roles,
            scopes,
            claims: None,
            expires: None,
            bound_to: None,
        }
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

    /// The same caller, with a credential that is good only over TLS connections with the client certificate of this fingerprint.
    #[must_use]
    pub fn with_certificate(mut self, fingerprint: impl Into<String>) -> Identity {
        self.bound_to = Some(fingerprint.into());
        self
    }

    /// Whether the credential may be used over the connection of this context.
    pub(crate) fn is_usable_over(&self, cx: &Context) -> bool {
        let certificate = || cx.get::<PeerCertificate>().map(|certificate| certificate.fingerprint.as_str());
        self.bound_to.is_none() || self.bound_to.as_deref() == certificate()
    }

    /// Whether the credential has expired.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }

    /// Attaches the identity to a context, so that inner layers and handlers see it.
    pub fn attach(self, cx: &mut Context) {
        cx.set_caller(Arc::new(self));
    }
}

/// The identity that a session has logged in with.
pub(crate) struct Login(pub(crate) Arc<Identity>);

impl FromContext for Identity {
    fn from_context(cx: &Context) -> Option<&Identity> {
        cx.caller()
    }

    fn missing() -> ErrorObject {
        ErrorObject::unauthorized()
    }
}
