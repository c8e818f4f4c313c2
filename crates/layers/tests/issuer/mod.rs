//! An issuer of tokens. Its keys are made for each test.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::time::SystemTime;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub(crate) const ISSUER: &str = "https://id.example.com";
pub(crate) const AUDIENCE: &str = "https://api.example.com";

/// A key of an issuer, with its identifier.
pub(crate) struct Signer {
    id: String,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Secret(Box<hmac::Key>),
}

pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Claims of alice that are right for an hour.
pub(crate) fn claims() -> Value {
    let now = now() as u64;
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": now + 3600, "iat": now})
}

/// A JWKS document with the keys of these.
pub(crate) fn set(signers: &[&Signer]) -> String {
    let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
    json!({"keys": keys}).to_string()
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token with any signature.
pub(crate) fn forged(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> String) -> String {
    let message = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
    let signature = sign(message.as_bytes());
    format!("{message}.{signature}")
}

impl Signer {
    fn new(id: &str, pair: Pair) -> Signer {
        Signer { id: id.to_owned(), pair }
    }

    pub(crate) fn rsa(id: &str) -> Signer {
        Signer::new(id, Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub(crate) fn p256(id: &str) -> Signer {
        Signer::new(id, Pair::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()))
    }

    pub(crate) fn p384(id: &str) -> Signer {
        Signer::new(id, Pair::P384(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap()))
    }

    pub(crate) fn ed25519(id: &str) -> Signer {
        Signer::new(id, Pair::Ed25519(Ed25519KeyPair::generate().unwrap()))
    }

    pub(crate) fn secret(secret: &[u8]) -> Signer {
        Signer::new("", Pair::Secret(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret))))
    }

    fn algorithm(&self) -> &'static str {
        match &self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Secret(_) => "HS256",
        }
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&json!({"alg": self.algorithm(), "kid": self.id}), claims)
    }

    pub(crate) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header), base64(claims));
        let random = SystemRandom::new();
        let bytes = message.as_bytes();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).unwrap();
                signature
            }
            Pair::P256(pair) | Pair::P384(pair) => pair.sign(&random, bytes).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
            Pair::Secret(key) => hmac::sign(key, bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", base64(signature))
    }

    /// The public key as JWKS documents have it.
    pub(crate) fn jwk(&self) -> Value {
        let curve = |point: &[u8], name: &str| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            json!({"kty": "EC", "crv": name, "kid": self.id, "x": base64(x), "y": base64(y)})
        };
        match &self.pair {
            Pair::Rsa(pair) => {
                // The exponent 65537 is at the end of the key.
                let exponent = pair.public_key().as_ref().last_chunk::<3>().unwrap();
                json!({"kty": "RSA", "kid": self.id, "use": "sig", "n": base64(self.modulus()), "e": base64(exponent)})
            }
            Pair::P256(pair) => curve(pair.public_key().as_ref(), "P-256"),
            Pair::P384(pair) => curve(pair.public_key().as_ref(), "P-384"),
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": base64(pair.public_key().as_ref())})
            }
            Pair::Secret(_) => panic!("it has no public key"),
        }
    }

    pub(crate) fn modulus(&self) -> Vec<u8> {
        let Pair::Rsa(pair) = &self.pair else { panic!("it has no modulus") };
        // A sequence of two numbers, of which the first has a leading zero.
        pair.public_key().as_ref()[9..][..256].to_vec()
    }

    /// The public key as a `SubjectPublicKeyInfo`.
    pub(crate) fn der(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = match &self.pair {
            Pair::Rsa(pair) => pair.public_key().as_der().unwrap(),
            Pair::P256(pair) | Pair::P384(pair) => pair.public_key().as_der().unwrap(),
            Pair::Ed25519(pair) => pair.public_key().as_der().unwrap(),
            Pair::Secret(_) => panic!("it has no public key"),
        };
        der.as_ref().to_vec()
    }

    pub(crate) fn pem(&self) -> String {
        let text = STANDARD.encode(self.der());
        let lines: Vec<&str> =
            text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
    }
}
