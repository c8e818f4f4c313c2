//! A key that signs or verifies.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use super::hex::{self, NoRandomness};
use super::member::{is_kid, is_visible};
use super::time;
use crate::Pattern;
use crate::identity::{Identity, Proof};

/// How a key signs. It is a property of the key; messages do not name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// HMAC with SHA-256. Both ends hold the same secret.
    HmacSha256,
    /// Ed25519. Only the signer holds the private key.
    Ed25519,
}

impl SigningAlgorithm {
    /// Its name in key files and in the signed text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SigningAlgorithm::HmacSha256 => "hmac-sha256",
            SigningAlgorithm::Ed25519 => "ed25519",
        }
    }

    /// The length of its signatures, in bytes.
    pub(super) fn signature_len(self) -> usize {
        match self {
            SigningAlgorithm::HmacSha256 => 32,
            SigningAlgorithm::Ed25519 => 64,
        }
    }
}

/// A key with its name, its owner and what it is good for. It is written as one line: `kid alg hex subject=bob scopes=transfer,math/*
/// from=… until=…`. The key of a gateway has the scope `forward`, and `prefix=bank/` if it removes that from the names of methods.
///
/// `alg` is `hmac-sha256`, `ed25519` with the public key, or `ed25519-private` with the private key, which belongs in the
/// signer's file only. All but the first three fields are optional. `from` and `until` are seconds since 1970 or times such as
/// `2026-01-31T00:00:00Z`. Without `subject`, the owner is named like the key; without `scopes`, the key is good for every method.
///
/// # Examples
///
/// ```
/// use switchboard_layers::signing::{SigningAlgorithm, Key};
///
/// let key: Key = "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob".parse()?;
/// assert_eq!((key.kid(), key.algorithm(), key.subject()), ("bob-1", SigningAlgorithm::HmacSha256, "bob"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Key {
    kid: Box<str>,
    material: Material,
    scopes: Vec<Pattern>,
    /// What a gateway removes from the names of methods.
    prefix: Box<str>,
    /// Seconds since 1970.
    from: Option<u64>,
    until: Option<u64>,
    identity: Arc<Identity>,
}

enum Material {
    Hmac(Box<hmac::Key>),
    Public([u8; 32]),
    Private(Box<Ed25519KeyPair>),
}

/// Why a line is not a key. The message does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub(super) &'static str);

impl Key {
    /// The name of the key.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// How it signs.
    #[must_use]
    pub fn algorithm(&self) -> SigningAlgorithm {
        match self.material {
            Material::Hmac(_) => SigningAlgorithm::HmacSha256,
            Material::Public(_) | Material::Private(_) => SigningAlgorithm::Ed25519,
        }
    }

    /// Whose signature it makes.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.identity.subject
    }

    /// The identity of callers that sign with this key.
    #[must_use]
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Whether the key can sign, not only verify.
    #[must_use]
    pub fn can_sign(&self) -> bool {
        !matches!(self.material, Material::Public(_))
    }

    /// Whether the key is good for this method.
    #[must_use]
    pub fn allows(&self, method: impl AsRef<[u8]>) -> bool {
        self.scopes.is_empty() || self.scopes.iter().any(|scope| scope.matches(&method))
    }

    /// Whether the key is good for forwarding the calls of other keys: it has the scope `forward`.
    #[must_use]
    pub fn forwards(&self) -> bool {
        self.scopes.iter().any(|scope| scope.to_string() == "forward")
    }

    /// What the gateway with this key removes from the names of methods.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether the key is good at this time, in seconds since 1970.
    #[must_use]
    pub fn is_valid_at(&self, seconds: u64) -> bool {
        self.from.is_none_or(|from| from <= seconds) && self.until.is_none_or(|until| seconds < until)
    }

    /// Signs a text. `None` if this is a public key.
    #[must_use]
    pub fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        match &self.material {
            Material::Hmac(key) => Some(hmac::sign(key, text).as_ref().to_vec()),
            Material::Private(pair) => Some(pair.sign(text).as_ref().to_vec()),
            Material::Public(_) => None,
        }
    }

    /// Whether this is the signature of a text, in constant time. A signature of another length is not.
    #[must_use]
    pub fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        if signature.len() != self.algorithm().signature_len() {
            return false;
        }
        match &self.material {
            Material::Hmac(key) => hmac::verify(key, text, signature).is_ok(),
            Material::Public(public) => is_signed(public, text, signature),
            Material::Private(pair) => is_signed(pair.public_key().as_ref(), text, signature),
        }
    }

    /// Makes a new key. Its name and owner are part of the lines.
    ///
    /// # Errors
    ///
    /// If the name or the owner is not valid, or the system has no random numbers.
    pub fn generate(kid: &str, algorithm: SigningAlgorithm, subject: &str) -> Result<NewKey, GenerateError> {
        let secret = hex::random::<32>()?;
        let private = match algorithm {
            SigningAlgorithm::HmacSha256 => algorithm.name(),
            SigningAlgorithm::Ed25519 => PRIVATE,
        };
        let signer = format!("{kid} {private} {secret} subject={subject}");
        let key: Key = signer.parse()?;
        let verifier = match &key.material {
            Material::Private(pair) => {
                let public = hex::encode(pair.public_key().as_ref());
                format!("{kid} {} {public} subject={subject}", algorithm.name())
            }
            _ => signer.clone(),
        };
        Ok(NewKey { signer, verifier })
    }

    /// A key without an owner, to spend the same time on unknown keys as on others.
    pub(super) fn dummy(algorithm: SigningAlgorithm) -> Key {
        // The public key of RFC 8032, section 7.1, test 1: any point on the curve will do.
        const POINT: [u8; 32] = [
            0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
            0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
        ];
        let material = match algorithm {
            SigningAlgorithm::HmacSha256 => {
                Material::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, &POINT)))
            }
            SigningAlgorithm::Ed25519 => Material::Public(POINT),
        };
        let identity = Arc::new(Identity::new("", Proof::Signature));
        Key {
            kid: "".into(),
            material,
            scopes: Vec::new(),
            prefix: "".into(),
            from: None,
            until: None,
            identity,
        }
    }
}

/// The lines of a new key.
#[non_exhaustive]
pub struct NewKey {
    /// The line for the signer's file. It is a secret.
    pub signer: String,
    /// The line for the verifiers' files. For HMAC it is the same line, and a secret too.
    pub verifier: String,
}

/// Hides the lines.
impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewKey(..)")
    }
}

/// Why a key cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The name or the owner is not valid.
    #[error(transparent)]
    Invalid(#[from] KeyError),
    /// The system has no random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

const PRIVATE: &str = "ed25519-private";

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(line: &str) -> Result<Key, KeyError> {
        let mut fields = line.split_ascii_whitespace();
        let (Some(kid), Some(algorithm), Some(hex)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(KeyError("write `kid algorithm hex`, such as `bob-1 hmac-sha256 000102…`"));
        };
        if !is_kid(kid) {
            return Err(KeyError("the key id must be 1 to 64 of A-Z a-z 0-9 . _ -"));
        }
        let material = material(algorithm, hex)?;
        let (mut subject, mut prefix, mut scopes, mut from, mut until) = (kid, "", Vec::new(), None, None);
        for field in fields {
            match field.split_once('=') {
                Some(("subject", value)) if is_subject(value) => subject = value,
                Some(("subject", _)) => {
                    return Err(KeyError("the subject must be 1 to 128 visible characters"));
                }
                Some(("scopes", value)) => {
                    let patterns: Result<_, _> = value.split(',').map(str::parse).collect();
                    scopes = patterns.map_err(|_| {
                        KeyError("the scopes must be method patterns separated by commas, such as `transfer,math/*`")
                    })?;
                }
                Some(("prefix", value)) if is_visible(value) => prefix = value,
                Some(("from", value)) => from = Some(moment(value)?),
                Some(("until", value)) => until = Some(moment(value)?),
                _ => {
                    return Err(KeyError(
                        "expected subject=, scopes=, prefix=, from= or until= after the key",
                    ));
                }
            }
        }
        let mut identity =
            Identity::new(subject, Proof::Signature).with_scopes(scopes.iter().map(ToString::to_string));
        identity.expires = until.map(|until| SystemTime::UNIX_EPOCH + Duration::from_secs(until));
        let (prefix, identity) = (prefix.into(), Arc::new(identity));
        Ok(Key { kid: kid.into(), material, scopes, prefix, from, until, identity })
    }
}

fn material(algorithm: &str, hex: &str) -> Result<Material, KeyError> {
    let bytes = hex::decode(hex).ok_or(KeyError("the key must be lower-case hexadecimal"))?;
    let wrong = KeyError("an Ed25519 key is 64 hexadecimal digits");
    match algorithm {
        "hmac-sha256" if bytes.len() < 32 => Err(KeyError(
            "an HMAC key needs at least 64 hexadecimal digits; make one with: openssl rand -hex 32",
        )),
        "hmac-sha256" if bytes.len() > 128 => Err(KeyError("an HMAC key has at most 256 hexadecimal digits")),
        "hmac-sha256" => Ok(Material::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))),
        "ed25519" => bytes.try_into().map(Material::Public).map_err(|_| wrong),
        PRIVATE => {
            let pair = Ed25519KeyPair::from_seed_unchecked(&bytes).map_err(|_| wrong)?;
            Ok(Material::Private(Box::new(pair)))
        }
        _ => Err(KeyError("the algorithm must be hmac-sha256, ed25519 or ed25519-private")),
    }
}

fn moment(text: &str) -> Result<u64, KeyError> {
    time::parse(text)
        .ok_or(KeyError("from and until are seconds since 1970 or times such as 2026-01-31T00:00:00Z"))
}

fn is_signed(public: &[u8], text: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(text, signature).is_ok()
}

fn is_subject(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Shows the name and the owner, and never the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm())
            .field("subject", &self.subject())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn error(line: &str) -> &'static str {
        line.parse::<Key>().unwrap_err().0
    }

    // SEC-S-05: HMAC keys have at least 32 bytes.
    #[test]
    fn a_wrong_line_is_explained_and_never_quoted() {
        let check = |line: &str, expected: &str| assert!(error(line).contains(expected), "{line}");
        check("bob hmac-sha256", "write `kid");
        check(&format!("b/ob hmac-sha256 {HEX}"), "key id");
        check("bob hmac-sha256 0001", "at least 64");
        check(&format!("bob hmac-sha256 {}", HEX.to_uppercase()), "lower-case");
        check("bob ed25519 0001", "64 hexadecimal digits");
        check(&format!("bob none {HEX}"), "algorithm must be");
        check(&format!("bob hmac-sha256 {HEX} until=tomorrow"), "seconds since 1970");
        check(&format!("bob hmac-sha256 {HEX} scope=a"), "expected subject=");
        check(&format!("bob hmac-sha256 {HEX} scopes=a,,b"), "method patterns");
    }

    // SEC-S-05
    #[test]
    fn a_key_is_good_for_its_scopes_and_its_time() {
        let line =
            format!("bob hmac-sha256 {HEX} scopes=transfer,math/* from=100 until=1970-01-01T00:03:20Z");
        let key: Key = line.parse().unwrap();
        assert!(key.allows("transfer") && key.allows("math/add") && !key.allows("admin"));
        assert_eq!([99, 100, 199, 200].map(|now| key.is_valid_at(now)), [false, true, true, false]);
        assert!(!format!("{key:?}").contains("0001"));
    }

    #[test]
    fn a_new_key_signs_and_its_verifier_verifies() {
        for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::Ed25519] {
            let new = Key::generate("a-1", algorithm, "ann").unwrap();
            let signer: Key = new.signer.parse().unwrap();
            let verifier: Key = new.verifier.parse().unwrap();
            let signature = signer.sign(b"text").unwrap();
            assert!(verifier.verifies(b"text", &signature) && signer.verifies(b"text", &signature));
            assert!(!verifier.verifies(b"Text", &signature) && !verifier.verifies(b"text", &signature[1..]));
            assert_eq!(verifier.can_sign(), algorithm == SigningAlgorithm::HmacSha256);
        }
        assert!(Key::generate("a b", SigningAlgorithm::Ed25519, "ann").is_err());
    }
}
