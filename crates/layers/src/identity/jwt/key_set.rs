//! The keys of an issuer: a JWKS document, or public keys in PEM format.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Deserialize;
use switchboard_core::Json;

use super::algorithm::{Algorithm, Material};

/// The longest document that is read.
pub(super) const LONGEST: usize = 256 << 10;
/// The most keys that a document may have.
const KEYS: usize = 100;
/// The most keys that are tried for one token. More than one is tried only where keys have no identifiers.
const TRIED: usize = 4;
/// A shorter secret can be guessed from a token.
const SHORTEST_SECRET: usize = 32;

/// The keys of an issuer, to verify signatures with.
#[derive(Clone)]
pub struct KeySet(Vec<Key>);

#[derive(Clone)]
struct Key {
    id: Option<String>,
    /// The only algorithm of the key, if it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// Why a document has no keys to use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// It is too long.
    #[error("the keys have {0} bytes; the limit is 256 KiB")]
    TooLong(usize),
    /// It has too many keys.
    #[error("there are more than 100 keys")]
    TooMany,
    /// It is neither a JWKS document nor PEM.
    #[error("the keys are neither a JWKS document (`{{\"keys\": [...]}}`) nor public keys in PEM format")]
    Malformed,
    /// A block of PEM is not a public key of a kind that is supported.
    #[error(
        "a PEM block is not a public key for RSA, P-256, P-384 or Ed25519; write one with: openssl pkey -pubout"
    )]
    Pem,
    /// None of its keys can verify signatures.
    #[error("there is no key to verify signatures with: RSA, P-256, P-384 or Ed25519")]
    Empty,
    /// The secret is too short.
    #[error("the secret is shorter than 32 bytes; make one with: openssl rand -hex 32")]
    ShortSecret,
}

/// A key as a JWKS document writes it (RFC 7517). Private parts and certificates are not read.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JWKS document or public keys in PEM format.
    ///
    /// Keys of a JWKS document that are of unknown kinds, malformed, or not for signatures are ignored, as RFC 7517 advises. So are
    /// symmetric keys: a secret has to be given as one, with [`KeySet::secret`].
    ///
    /// # Errors
    ///
    /// If the document is too long or malformed, or has no key that can be used.
    pub fn parse(document: impl AsRef<[u8]>) -> Result<KeySet, KeySetError> {
        let document = document.as_ref();
        if document.len() > LONGEST {
            return Err(KeySetError::TooLong(document.len()));
        }
        let keys = if document.trim_ascii_start().starts_with(b"-----BEGIN") {
            from_pem(std::str::from_utf8(document).map_err(|_| KeySetError::Malformed)?)?
        } else {
            from_jwks(document)?
        };
        match keys.len() {
            0 => Err(KeySetError::Empty),
            count if count > KEYS => Err(KeySetError::TooMany),
            _ => Ok(KeySet(keys)),
        }
    }

    /// A secret that the issuer shares with this server, for HMAC.
    ///
    /// # Errors
    ///
    /// If it is shorter than 32 bytes.
    pub fn secret(secret: impl Into<Vec<u8>>) -> Result<KeySet, KeySetError> {
        let secret = secret.into();
        if secret.len() < SHORTEST_SECRET {
            return Err(KeySetError::ShortSecret);
        }
        Ok(KeySet(vec![Key { id: None, algorithm: None, material: Material::Secret(secret) }]))
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these are secrets, not public keys.
    pub(super) fn is_secret(&self) -> bool {
        self.0.iter().any(|key| matches!(key.material, Material::Secret(_)))
    }

    /// The keys that may have signed a token with this algorithm and key identifier.
    pub(super) fn candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> impl Iterator<Item = &Material> {
        let is_candidate = move |key: &&Key| {
            // An identifier is compared and nothing else: it is never a path or a query (SEC-T-03).
            let is_named = id.is_none() || key.id.is_none() || key.id.as_deref() == id;
            is_named && key.algorithm.is_none_or(|only| only == algorithm) && key.material.fits(algorithm)
        };
        self.0.iter().filter(is_candidate).map(|key| &key.material).take(TRIED)
    }
}

/// Shows how many there are.
impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({})", self.len())
    }
}

fn from_jwks(document: &[u8]) -> Result<Vec<Key>, KeySetError> {
    let json = Json::parse(Bytes::copy_from_slice(document)).map_err(|_| KeySetError::Malformed)?;
    let keys = json.get("keys").ok_or(KeySetError::Malformed)?;
    let keys: Vec<Json> = keys.decode().map_err(|_| KeySetError::Malformed)?;
    if keys.len() > KEYS {
        return Err(KeySetError::TooMany);
    }
    Ok(keys.iter().filter_map(|key| from_jwk(key.decode().ok()?)).collect())
}

fn from_jwk(jwk: Jwk) -> Option<Key> {
    let is_for_signatures = jwk.usage.is_none_or(|usage| usage == "sig")
        && jwk.key_ops.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
    let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
    let point = |x: Option<String>, y: Option<String>, size: usize| {
        let (x, y) = (bytes(x)?, bytes(y)?);
        (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y[..]].concat())
    };
    let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => Material::Rsa { n: bytes(jwk.n)?, e: bytes(jwk.e)? },
        ("EC", Some("P-256")) => Material::P256(point(jwk.x, jwk.y, 32)?),
        ("EC", Some("P-384")) => Material::P384(point(jwk.x, jwk.y, 48)?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(jwk.x).filter(|x| x.len() == 32)?),
        _ => return None,
    };
    let algorithm = match jwk.alg {
        None => None,
        // A key for another algorithm is not for ours.
        Some(name) => Some(name.parse().ok()?),
    };
    is_for_signatures.then_some(Key { id: jwk.kid, algorithm, material })
}

fn from_pem(text: &str) -> Result<Vec<Key>, KeySetError> {
    const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
    const END: &str = "-----END PUBLIC KEY-----";
    let mut keys = Vec::new();
    for block in text.split("-----BEGIN").skip(1).map(|rest| format!("-----BEGIN{rest}")) {
        let body =
            block.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).ok_or(KeySetError::Pem)?.0;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| KeySetError::Pem)?;
        let material = from_der(&der).ok_or(KeySetError::Pem)?;
        keys.push(Key { id: None, algorithm: None, material });
    }
    Ok(keys)
}

/// Reads a `SubjectPublicKeyInfo`. The kinds that are supported have one encoding of their algorithm each, so it is compared, not parsed.
fn from_der(der: &[u8]) -> Option<Material> {
    const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    const P256: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
    const P384: &[u8] =
        b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00";
    const ED25519: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    let rest = |prefix: &[u8], length: usize| {
        der.strip_prefix(prefix).filter(|key| key.len() == length).map(<[u8]>::to_vec)
    };
    if let Some(point) = rest(P256, 65) {
        return Some(Material::P256(point));
    }
    if let Some(point) = rest(P384, 97) {
        return Some(Material::P384(point));
    }
    if let Some(key) = rest(ED25519, 32) {
        return Some(Material::Ed25519(key));
    }
    // The sequence around an RSA key has a length of two bytes, from 2048 bits on.
    let inner = der.strip_prefix(b"\x30\x82").and_then(|rest| rest.get(2..))?;
    inner.starts_with(RSA).then(|| Material::RsaDer(der.to_vec()))
}
