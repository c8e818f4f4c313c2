//! The credentials that `switchboard serve` accepts.

use std::path::PathBuf;

use clap::Args;
use switchboard::identity::{ApiKeys, Authentication, CertificateNames, CredentialFileError, Tokens};

use crate::failure::Failure;

/// The credentials that a server accepts. With several options, any one of them is enough.
#[derive(Debug, Args)]
pub(crate) struct Credentials {
    /// Require a token for every call and page. The file has one `name:token` per line, and must be readable only by its owner.
    /// Changes are picked up within 5 seconds. Clients send theirs with --token. Browsers ask for the name and the token.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Require an API key for every call and page. The file has the lines that `switchboard key new` prints, and must be readable
    /// only by its owner. Changes are picked up within 5 seconds. Clients send theirs with --token, or in the header x-api-key.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// The client certificates that a server asks for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Certificates {
    /// None.
    Unused,
    /// Every caller over TLS has one, in addition to other credentials.
    Required,
    /// A certificate is as good as another credential.
    Optional,
}

impl Credentials {
    /// What callers have to prove, if anything.
    pub(crate) fn authentication(
        &self,
        certificates: Certificates,
    ) -> Result<Option<Authentication>, Failure> {
        let mut accepted = Accepted::default();
        if let Some(path) = &self.tokens {
            accepted.add(Tokens::watch(path).map_err(wrong("--tokens"))?);
        }
        if let Some(path) = &self.keys {
            accepted.add(ApiKeys::watch(path).map_err(wrong("--keys"))?);
        }
        Ok(match (accepted.0, certificates) {
            (Some(authentication), Certificates::Optional) => Some(authentication.or(CertificateNames)),
            (Some(authentication), _) => Some(authentication),
            (None, Certificates::Unused) => None,
            // TLS refuses those without one where it must. Other listeners stay open.
            (None, _) => Some(Authentication::new(CertificateNames).optional()),
        })
    }
}

/// The authenticators so far.
#[derive(Default)]
struct Accepted(Option<Authentication>);

impl Accepted {
    fn add(&mut self, authenticator: impl switchboard::identity::Authenticate) {
        self.0 = Some(match self.0.take() {
            Some(authentication) => authentication.or(authenticator),
            None => Authentication::new(authenticator),
        });
    }
}

fn wrong(option: &'static str) -> impl Fn(CredentialFileError) -> Failure {
    move |error| Failure::usage(format!("{option}: {error}"))
}
