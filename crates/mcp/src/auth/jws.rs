//! Signs what a client says about itself: assertions (RFC 7523) and proofs of a key (RFC 9449).

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::error::AuthError;

/// A private key of a client. Cheap to clone; it is not shown.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    /// Which key it is, if the authorization server knows several.
    id: Option<String>,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// A private key in PEM format (PKCS #8): P-256, P-384, Ed25519 or RSA.
    ///
    /// # Errors
    ///
    /// When it is not such a key.
    pub fn from_pem(pem: &str) -> Result<SigningKey, AuthError> {
        const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
        const END: &str = "-----END PRIVATE KEY-----";
        let wrong = |why: &str| AuthError::Key(why.to_owned());
        let body = pem.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (body, _) = body.ok_or_else(|| {
            wrong("it is not a private key in PEM format (PKCS #8); convert it with: openssl pkcs8 -topk8 -nocrypt")
        })?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| wrong("the PEM block is not base64"))?;
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, &der).ok();
        let pair = ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Pair::P256);
        let pair = pair.or_else(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Pair::P384));
        let pair = pair.or_else(|| Ed25519KeyPair::from_pkcs8(&der).ok().map(Pair::Ed25519));
        let pair = pair.or_else(|| RsaKeyPair::from_pkcs8(&der).ok().map(Pair::Rsa));
        let pair = pair.ok_or_else(|| wrong("it is not for P-256, P-384, Ed25519 or RSA"))?;
        Ok(SigningKey { pair: Arc::new(pair), id: None })
    }

    /// The same key, named by this identifier (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> SigningKey {
        self.id = Some(id.into());
        self
    }

    /// A new key for P-256.
    pub(super) fn generate() -> Result<SigningKey, AuthError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
        let pair = pair.map_err(|_| AuthError::Key("the system makes none".to_owned()))?;
        Ok(SigningKey { pair: Arc::new(Pair::P256(pair)), id: None })
    }

    fn algorithm(&self) -> &'static str {
        match &*self.pair {
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// A signed token with these claims.
    pub(super) fn sign(&self, kind: &str, with_key: bool, claims: &Value) -> Result<String, AuthError> {
        let mut header = json!({"alg": self.algorithm(), "typ": kind});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        if with_key {
            header["jwk"] = self.public();
        }
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&header), part(claims));
        let failed = |_| AuthError::Key("it does not sign".to_owned());
        let (random, bytes) = (SystemRandom::new(), message.as_bytes());
        let signature = match &*self.pair {
            Pair::P256(pair) | Pair::P384(pair) => {
                pair.sign(&random, bytes).map_err(failed)?.as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).map_err(failed)?;
                signature
            }
        };
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The public key, for P-256. Only proofs of a key have it, and their keys are our own.
    fn public(&self) -> Value {
        let Pair::P256(pair) = &*self.pair else { return Value::Null };
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm())
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
