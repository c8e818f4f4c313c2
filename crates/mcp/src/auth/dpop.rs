//! Proofs that a request comes from the holder of the key that its token is bound to (DPoP, RFC 9449).

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use switchboard_layers::identity::jwt::SigningKey;

use super::error::AuthError;
use super::jws::{now, proof};
use super::pkce::sha256;
use crate::ask::seal::random_id;

/// The algorithm of our keys.
pub(super) const ALGORITHM: &str = "ES256";

/// The header with the proof.
const PROOF: HeaderName = HeaderName::from_static("dpop");
/// The header with a value that proofs must have.
const NONCE: &str = "dpop-nonce";

/// Adds the proof for a request.
pub(super) fn prove(
    key: &SigningKey,
    headers: &mut HeaderMap,
    method: &Method,
    url: &str,
    nonce: Option<&str>,
    token: Option<&str>,
) -> Result<(), AuthError> {
    let target = url.split(['?', '#']).next().unwrap_or_default();
    let mut claims = json!({"jti": random_id(), "htm": method.as_str(), "htu": target, "iat": now()});
    if let Some(nonce) = nonce {
        claims["nonce"] = json!(nonce);
    }
    if let Some(token) = token {
        claims["ath"] = json!(sha256(token));
    }
    let header = HeaderValue::try_from(proof(key, "dpop+jwt", &claims)?);
    headers.insert(PROOF, header.map_err(|_| AuthError::Key("the proof is not a header".to_owned()))?);
    Ok(())
}

/// The value that the next proof must have, if the server gave one.
pub(super) fn nonce(headers: &HeaderMap) -> Option<String> {
    let nonce = headers.get(NONCE)?.to_str().ok()?;
    (!nonce.is_empty() && nonce.len() <= 1024).then(|| nonce.to_owned())
}
