//! The algorithms of signatures, each bound to one kind of key.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// An algorithm of signatures. There is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are those of RFC 7518 and RFC 8037")]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
    HS256,
    HS384,
    HS512,
}

/// A text that does not name an algorithm that is supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown algorithm; use RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA, HS256, HS384 or HS512"
)]
pub struct UnknownAlgorithm;

const NAMES: [(&str, Algorithm); 12] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
    ("HS256", Algorithm::HS256),
    ("HS384", Algorithm::HS384),
    ("HS512", Algorithm::HS512),
];

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        // RFC 9864 gave the only curve of `EdDSA` that is in use a name.
        let text = if text == "Ed25519" { "EdDSA" } else { text };
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, found)| *found).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a signature is verified with. An algorithm of another kind never fits: a public key is not the secret of an HMAC (SEC-T-01).
#[derive(Clone)]
pub(super) enum Material {
    /// Modulus and exponent.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A `SubjectPublicKeyInfo`.
    RsaDer(Vec<u8>),
    /// A point on the curve P-256.
    P256(Vec<u8>),
    /// A point on the curve P-384.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    /// The secret of an HMAC.
    Secret(Vec<u8>),
}

impl Material {
    /// Whether the algorithm is for this kind of key.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm::*;
        match self {
            Material::Rsa { .. } | Material::RsaDer(_) => rsa(algorithm).is_some(),
            Material::P256(_) => algorithm == ES256,
            Material::P384(_) => algorithm == ES384,
            Material::Ed25519(_) => algorithm == EdDSA,
            Material::Secret(_) => matches!(algorithm, HS256 | HS384 | HS512),
        }
    }

    /// Whether this key made the signature, with this algorithm.
    pub(super) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        let public = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match self {
            Material::Rsa { n, e } => rsa(algorithm).is_some_and(|parameters| {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }),
            Material::RsaDer(der) => rsa(algorithm).is_some_and(|parameters| public(parameters, der)),
            Material::P256(point) => public(&signature::ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => public(&signature::ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(key) => public(&signature::ED25519, key),
            Material::Secret(secret) => {
                let digest = match algorithm {
                    Algorithm::HS384 => hmac::HMAC_SHA384,
                    Algorithm::HS512 => hmac::HMAC_SHA512,
                    _ => hmac::HMAC_SHA256,
                };
                // In constant time.
                hmac::verify(&hmac::Key::new(digest, secret), message, signature).is_ok()
            }
        }
    }
}

/// The parameters of an RSA algorithm. Keys have at least 2048 bits.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const JOE: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// Checks a signature from an RFC, and that a changed one is wrong.
    fn check(key: &Material, algorithm: Algorithm, message: &str, signature: &str) {
        let mut signature = bytes(signature);
        assert!(key.verify(algorithm, message.as_bytes(), &signature), "{algorithm}");
        for (_, other) in NAMES.iter().filter(|(_, other)| *other != algorithm) {
            assert!(!key.verify(*other, message.as_bytes(), &signature), "{other}");
        }
        signature[5] ^= 1;
        assert!(!key.verify(algorithm, message.as_bytes(), &signature), "{algorithm}");
    }

    #[test]
    fn the_examples_of_rfc_7515_and_rfc_8037_are_verified() {
        let secret =
            bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
        check(
            &Material::Secret(secret),
            Algorithm::HS256,
            &format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{JOE}"),
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        );
        let (x, y) =
            ("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
        check(
            &Material::P256([vec![4], bytes(x), bytes(y)].concat()),
            Algorithm::ES256,
            &format!("eyJhbGciOiJFUzI1NiJ9.{JOE}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        );
        check(
            &Material::Ed25519(bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
            Algorithm::EdDSA,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        );
    }

    // SEC-T-01
    #[test]
    fn none_is_not_an_algorithm_and_names_are_exact() {
        for name in ["none", "None", "NONE", "", "rs256", "RS256 ", "ES512", "RS1"] {
            assert_eq!(name.parse::<Algorithm>(), Err(UnknownAlgorithm), "{name}");
        }
        for (name, algorithm) in NAMES {
            assert_eq!((name.parse(), algorithm.to_string().as_str()), (Ok(algorithm), name));
        }
        assert_eq!("Ed25519".parse(), Ok(Algorithm::EdDSA));
    }
}
