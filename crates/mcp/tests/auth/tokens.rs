//! Signed tokens, and the key that they are checked with.

use std::time::SystemTime;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A key that signs tokens.
pub(crate) struct Signer(EcdsaKeyPair);

impl Signer {
    pub(crate) fn new() -> Signer {
        Signer(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&json!({"alg": "ES256", "typ": "at+jwt"})), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    /// The document with its public key.
    pub(crate) fn key_set(&self) -> String {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y}]}).to_string()
    }
}

/// A private key in PEM format, and the document with its public key.
pub(crate) fn client_key() -> (String, String) {
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
    let text = STANDARD.encode(document.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    (pem, Signer(pair).key_set())
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Claims that are right for an hour.
pub(crate) fn claims(issuer: &str, audience: &str, scope: &str) -> Value {
    let now = now();
    json!({"iss": issuer, "aud": audience, "sub": "ann", "exp": now + 3600, "iat": now, "scope": scope})
}
