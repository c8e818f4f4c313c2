//! The credentials that `switchboard serve` accepts.

use std::path::PathBuf;

use clap::Args;
use switchboard::http::Resource;
use switchboard::identity::jwt::{Jwt, Keys};
use switchboard::identity::{
    ApiKeys, Authentication, CertificateNames, CredentialFileError, StdioUser, Tokens,
};

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
    /// Accept the tokens (JWT) of this issuer, as their claim `iss` names it.
    #[arg(long, value_name = "ISSUER", requires = "jwt_audience", requires = "jwt_keys")]
    jwt_issuer: Option<String>,
    /// Accept only tokens for this audience: their claim `aud` names it. Can be repeated.
    #[arg(long, value_name = "AUDIENCE", requires = "jwt_issuer")]
    jwt_audience: Vec<String>,
    /// Keys of the issuer: a file or an https URL with a JWKS document, or a file with public keys in PEM format. Changes of the file are
    /// picked up within 5 seconds, those at a URL within 10 minutes, or when a token names a new key.
    #[arg(long, value_name = "FILE|URL", requires = "jwt_issuer")]
    jwt_keys: Option<String>,
    /// Trust the process at standard input and output: it is this caller, without a token.
    #[arg(long, value_name = "NAME", requires = "stdio")]
    stdio_user: Option<String>,
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
        if let (Some(issuer), Some(keys)) = (&self.jwt_issuer, &self.jwt_keys) {
            accepted.add(Jwt::new(issuer, self.jwt_audience.iter(), issuer_keys(keys)?));
        }
        let is_required = accepted.0.is_some();
        if certificates == Certificates::Optional || (certificates == Certificates::Required && !is_required)
        {
            accepted.add(CertificateNames);
        }
        if let Some(name) = &self.stdio_user {
            accepted.add(StdioUser::new(name));
        }
        // Otherwise nothing but the transport proves who calls. TLS refuses callers where it must, and other listeners stay open.
        Ok(accepted
            .0
            .map(|authentication| if is_required { authentication } else { authentication.optional() }))
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

/// The keys of a token issuer, from a file or a URL.
fn issuer_keys(place: &str) -> Result<Keys, Failure> {
    if !place.contains("://") {
        return Keys::file(place).map_err(wrong("--jwt-keys"));
    }
    let document = Resource::new(place).map_err(|error| Failure::usage(format!("--jwt-keys: {error}")))?;
    Ok(Keys::fetched(move || document.get()))
}

fn wrong(option: &'static str) -> impl Fn(CredentialFileError) -> Failure {
    move |error| Failure::usage(format!("{option}: {error}"))
}
