//! Signs what a client says about itself: assertions (RFC 7523) and proofs of a key (RFC 9449).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use switchboard_layers::identity::jwt::{SigningKey, SigningKeyError};

use super::error::AuthError;

/// A signed token with these claims.
pub(super) fn token(key: &SigningKey, kind: &str, claims: &Value) -> Result<String, AuthError> {
    signed(key, json!({"typ": kind}), claims)
}

/// The same with the public key in its header.
pub(super) fn proof(key: &SigningKey, kind: &str, claims: &Value) -> Result<String, AuthError> {
    signed(key, json!({"typ": kind, "jwk": key.public_key()}), claims)
}

fn signed(key: &SigningKey, header: Value, claims: &Value) -> Result<String, AuthError> {
    let claims = claims.to_string();
    Ok(key.sign(header, claims.as_bytes())?.with_text(claims.as_bytes()))
}

impl From<SigningKeyError> for AuthError {
    fn from(error: SigningKeyError) -> AuthError {
        AuthError::Key(error.reason().to_owned())
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
