//! Signs texts with a private key: JWS (RFC 7515) whose text travels apart from the signature.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::algorithm::Algorithm;
use super::key_set::KeySet;

/// A private key that signs tokens and documents. Cheap to clone; it is not shown.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    id: Option<String>,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key cannot be used: {0}")]
pub struct SigningKeyError(&'static str);

impl SigningKeyError {
    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.0
    }
}

/// The signature of a text, as a JWS that does not contain the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Jws {
    /// The signed header, in base64url.
    pub protected: String,
    /// The signature, in base64url.
    pub signature: String,
}

impl SigningKey {
    /// A private key in PEM format (PKCS #8): P-256, P-384, Ed25519 or RSA.
    ///
    /// # Errors
    ///
    /// When it is not such a key.
    pub fn from_pem(pem: &str) -> Result<SigningKey, SigningKeyError> {
        const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
        const END: &str = "-----END PRIVATE KEY-----";
        let body = pem.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (body, _) = body.ok_or(SigningKeyError(
            "it is not a private key in PEM format (PKCS #8); convert it with: openssl pkcs8 -topk8 -nocrypt",
        ))?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| SigningKeyError("the PEM block is not base64"))?;
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, &der).ok();
        let pair = ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Pair::P256);
        let pair = pair.or_else(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Pair::P384));
        let pair = pair.or_else(|| Ed25519KeyPair::from_pkcs8(&der).ok().map(Pair::Ed25519));
        let pair = pair.or_else(|| RsaKeyPair::from_pkcs8(&der).ok().map(Pair::Rsa));
        let pair = pair.ok_or(SigningKeyError("it is not a P-256, P-384, Ed25519 or RSA key"))?;
        Ok(SigningKey { pair: Arc::new(pair), id: None })
    }

    /// A new key for P-256.
    ///
    /// # Errors
    ///
    /// When the system could not generate one.
    pub fn generate() -> Result<SigningKey, SigningKeyError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
        let pair = pair.map_err(|_| SigningKeyError("the system could not generate one"))?;
        Ok(SigningKey { pair: Arc::new(Pair::P256(pair)), id: None })
    }

    /// The same key, named by this identifier (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> SigningKey {
        self.id = Some(id.into());
        self
    }

    /// How it signs.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match &*self.pair {
            Pair::P256(_) => Algorithm::ES256,
            Pair::P384(_) => Algorithm::ES384,
            Pair::Ed25519(_) => Algorithm::EdDSA,
            Pair::Rsa(_) => Algorithm::RS256,
        }
    }

    /// The public key as a JWK (RFC 7517). There is none for RSA.
    #[must_use]
    pub fn public_key(&self) -> Option<Value> {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)})
        };
        let mut key = match &*self.pair {
            Pair::P256(pair) => point("P-256", pair.public_key().as_ref()),
            Pair::P384(pair) => point("P-384", pair.public_key().as_ref()),
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
            Pair::Rsa(_) => return None,
        };
        if let Some(id) = &self.id {
            key["kid"] = json!(id);
        }
        Some(key)
    }

    /// Signs a text, with this header, an object. The algorithm and the identifier of the key are added to it.
    ///
    /// # Errors
    ///
    /// When the key does not sign.
    pub fn sign(&self, mut header: Value, text: &[u8]) -> Result<Jws, SigningKeyError> {
        header["alg"] = json!(self.algorithm().to_string());
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let signature = self.signature(message(&protected, text).as_bytes())?;
        Ok(Jws { protected, signature: URL_SAFE_NO_PAD.encode(signature) })
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, SigningKeyError> {
        let failed = |_| SigningKeyError("signing failed");
        let random = SystemRandom::new();
        Ok(match &*self.pair {
            Pair::P256(pair) | Pair::P384(pair) => {
                pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                signature
            }
        })
    }
}

impl Jws {
    /// The signature with these parts.
    #[must_use]
    pub fn new(protected: impl Into<String>, signature: impl Into<String>) -> Jws {
        Jws { protected: protected.into(), signature: signature.into() }
    }

    /// The compact form with the text: a token, if the text is a set of claims.
    #[must_use]
    pub fn with_text(&self, text: &[u8]) -> String {
        format!("{}.{}", message(&self.protected, text), self.signature)
    }

    /// The signed header, which nothing is known about before the signature was verified.
    #[must_use]
    pub fn header(&self) -> Option<Value> {
        let header = URL_SAFE_NO_PAD.decode(&self.protected).ok()?;
        serde_json::from_slice(&header).ok().filter(Value::is_object)
    }

    /// Whether one of these keys signed this text. Extensions that are marked critical are refused, because none is known.
    #[must_use]
    pub fn is_of(&self, keys: &KeySet, text: &[u8]) -> bool {
        let Some(header) = self.header() else { return false };
        let algorithm = header["alg"].as_str().and_then(|name| name.parse::<Algorithm>().ok());
        let (Some(algorithm), Ok(signature)) = (algorithm, URL_SAFE_NO_PAD.decode(&self.signature)) else {
            return false;
        };
        if header.get("crit").is_some() || header.get("b64").is_some() {
            return false;
        }
        let message = message(&self.protected, text);
        let mut candidates = keys.candidates(algorithm, header["kid"].as_str());
        candidates.any(|key| key.verify(algorithm, message.as_bytes(), &signature))
    }
}

/// What is signed.
fn message(protected: &str, text: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(text))
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(key: &SigningKey) -> KeySet {
        KeySet::parse(json!({"keys": [key.public_key().unwrap()]}).to_string()).unwrap()
    }

    // SEC-T-01
    #[test]
    fn a_signature_is_of_its_text_and_of_its_key() {
        let (key, other) = (SigningKey::generate().unwrap().with_id("a"), SigningKey::generate().unwrap());
        let jws = key.sign(json!({"typ": "JOSE"}), b"text").unwrap();
        assert!(jws.is_of(&keys(&key), b"text"));
        assert!(!jws.is_of(&keys(&key), b"other text"));
        assert!(!jws.is_of(&keys(&other), b"text"));
        assert!(!jws.is_of(&keys(&key.clone().with_id("b")), b"text"));
        assert_eq!(jws.header().unwrap(), json!({"typ": "JOSE", "alg": "ES256", "kid": "a"}));
        for header in [json!({"alg": "none"}), json!({"alg": "HS256"}), json!([]), json!({})] {
            let forged = Jws::new(URL_SAFE_NO_PAD.encode(header.to_string()), jws.signature.clone());
            assert!(!forged.is_of(&keys(&key), b"text"), "{header}");
        }
        let critical = key.sign(json!({"crit": ["x"], "x": 1}), b"text").unwrap();
        assert!(!critical.is_of(&keys(&key), b"text"));
    }
}
