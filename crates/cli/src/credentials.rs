//! The options of `switchboard serve` about credentials.

use std::path::PathBuf;

use clap::Args;

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
    /// Accept tokens (JWT) from this issuer: the value of their claim `iss`.
    #[arg(long, value_name = "ISSUER", requires = "jwt_audience", requires = "jwt_keys")]
    jwt_issuer: Option<String>,
    /// Accept only tokens whose claim `aud` names this audience. Can be repeated.
    #[arg(long, value_name = "AUDIENCE", requires = "jwt_issuer")]
    jwt_audience: Vec<String>,
    /// Keys of the issuer: a file or an https URL with a JWKS document, or a file with public keys in PEM format. Changes to the file are
    /// picked up within 5 seconds; changes at a URL within 10 minutes, or when a token names a new key.
    #[arg(long, value_name = "FILE|URL", requires = "jwt_issuer")]
    jwt_keys: Option<String>,
    /// Trust the process at standard input and output as this caller, without a token.
    #[arg(long, value_name = "NAME", requires = "stdio")]
    stdio_user: Option<String>,
}
