//! Finds the owner of a credential.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::PeerCertificate;

use super::{Credential, Identity, Proof};

/// Finds the owner of a credential.
///
/// Implement it for credentials that Switchboard does not know: a database of sessions, an introspection endpoint. A credential of a
/// kind that it does not handle is [`Verdict::Unknown`]. Every wrong credential must take the same time to check.
pub trait Authenticate: Send + Sync + 'static {
    /// Checks one credential.
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict;

    /// Whether it may refuse a credential later that it accepts now, other than by its expiry. Credentials of open connections are then
    /// checked again and again.
    fn can_revoke(&self) -> bool {
        false
    }

    /// The owners of the credentials that it has a list of, for explanations; none if it has no list.
    fn owners(&self) -> Vec<Arc<Identity>> {
        Vec::new()
    }
}

/// The owner of a credential, if it has one.
#[non_exhaustive]
pub enum Verdict {
    /// It belongs to this caller.
    Known(Arc<Identity>),
    /// It is wrong, or of another kind. The next authenticator is asked.
    Unknown,
    /// It cannot be checked now, for example because the issuer's keys cannot be fetched. The next authenticator is asked. If none knows
    /// the credential, the caller gets -32005 (503) and may try again after this time. That does not count as a wrong credential.
    Unavailable(Duration),
    /// The decision takes time, for example for a request to another server.
    Later(Pin<Box<dyn Future<Output = Verdict> + Send>>),
}

impl Verdict {
    /// Waits for a decision that takes time.
    pub(super) async fn resolved(self) -> Verdict {
        let mut verdict = self;
        while let Verdict::Later(decision) = verdict {
            verdict = decision.await;
        }
        verdict
    }

    /// What two authenticators say together: an owner counts more than a check that was not possible.
    pub(super) fn or(self, other: Verdict) -> Verdict {
        match (&self, &other) {
            (Verdict::Known(_), _) | (_, Verdict::Unknown) => self,
            (Verdict::Unavailable(_), Verdict::Unavailable(_)) => self,
            _ => other,
        }
    }
}

impl From<Option<Arc<Identity>>> for Verdict {
    fn from(owner: Option<Arc<Identity>>) -> Verdict {
        owner.map_or(Verdict::Unknown, Verdict::Known)
    }
}

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Known(identity) => f.debug_tuple("Known").field(identity).finish(),
            Verdict::Unknown => f.write_str("Unknown"),
            Verdict::Unavailable(wait) => f.debug_tuple("Unavailable").field(wait).finish(),
            Verdict::Later(_) => f.write_str("Later(..)"),
        }
    }
}

impl<F> Authenticate for F
where
    F: Fn(&Credential<'_>) -> Verdict + Send + Sync + 'static,
{
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        self(credential)
    }
}

/// Identifies callers by client certificate. The subject is the first name that the certificate has: a URI (as SPIFFE writes it), a DNS
/// name, an email address, or else the distinguished name.
#[derive(Clone, Copy, Debug, Default)]
pub struct CertificateNames;

impl Authenticate for CertificateNames {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        match credential {
            Credential::Certificate(certificate) => match subject(certificate) {
                Some(subject) => Verdict::Known(Arc::new(Identity::new(subject, Proof::Certificate))),
                None => Verdict::Unknown,
            },
            _ => Verdict::Unknown,
        }
    }
}

fn subject(certificate: &PeerCertificate) -> Option<&str> {
    let names = [&certificate.uris, &certificate.dns_names, &certificate.emails];
    let name = names.into_iter().find_map(|names| names.first()).unwrap_or(&certificate.subject);
    Some(name.as_str()).filter(|name| !name.is_empty())
}

/// Identifies callers by the user of the process that connects over a Unix socket. The subject is `uid:1000`, for example.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnixUsers;

impl Authenticate for UnixUsers {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        match credential {
            Credential::Process(process) => {
                Verdict::Known(Arc::new(Identity::new(format!("uid:{}", process.uid), Proof::UnixUser)))
            }
            _ => Verdict::Unknown,
        }
    }
}

/// Trusts the process that talks over standard input and output: it is this caller. That process started the server, or was started with
/// it, so it can do whatever the server can.
#[derive(Clone, Debug)]
pub struct StdioUser(Arc<Identity>);

impl StdioUser {
    /// The caller over standard input and output is this one.
    pub fn new(name: impl Into<String>) -> StdioUser {
        StdioUser(Arc::new(Identity::new(name, Proof::Stdio)))
    }
}

impl Authenticate for StdioUser {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        match credential {
            Credential::Stdio => Verdict::Known(Arc::clone(&self.0)),
            _ => Verdict::Unknown,
        }
    }
}
