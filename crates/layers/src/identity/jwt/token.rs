//! Checks one token. Nothing here waits or keeps anything.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_core::{Json, Kind};

use super::algorithm::Algorithm;
use super::unique::Unique;
use super::{JwtOptions, KeySet};
use crate::identity::{Identity, Proof, Verdict};

/// The longest key identifier that is looked up.
const KEY_ID: usize = 256;

/// Claims that only ID tokens have. Those tell a client who logged in; they do not allow anybody to call.
const OF_ID_TOKENS: [&str; 4] = ["nonce", "at_hash", "c_hash", "s_hash"];

/// Who may issue tokens, and for whom.
pub(super) struct Rules {
    pub(super) issuer: String,
    pub(super) audiences: Vec<String>,
    pub(super) options: JwtOptions,
}

/// A token whose claims are right if its signature is.
pub(super) struct Unverified {
    /// The signed part.
    message: Vec<u8>,
    signature: Vec<u8>,
    algorithm: Algorithm,
    key_id: Option<String>,
    identity: Identity,
}

impl Unverified {
    /// Reads a token and checks everything but its signature, so that no keys are looked for on behalf of a token that cannot be right.
    pub(super) fn read(token: &str, rules: &Rules, now: SystemTime) -> Option<Unverified> {
        if token.len() > rules.options.token_length {
            return None;
        }
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        let header = object(header)?;
        let algorithm: Algorithm = text(&header, "alg")?.parse().ok()?;
        if !rules.options.algorithms.contains(&algorithm) || !is_header_right(&header, rules) {
            return None;
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(_) => Some(text(&header, "kid").filter(|id| id.len() <= KEY_ID)?),
        };
        let identity = rules.identity(object(claims)?, is_access_token(&header), now)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        Some(Unverified { message: message.into(), signature, algorithm, key_id, identity })
    }

    /// Whether there is a key that may have signed it.
    pub(super) fn has_key(&self, keys: &KeySet) -> bool {
        keys.candidates(self.algorithm, self.key_id.as_deref()).next().is_some()
    }

    /// Whose it is, if one of the keys signed it.
    pub(super) fn verdict(self, keys: &KeySet) -> Verdict {
        let mut candidates = keys.candidates(self.algorithm, self.key_id.as_deref());
        let is_signed = candidates.any(|key| key.verify(self.algorithm, &self.message, &self.signature));
        if is_signed { Verdict::Known(Arc::new(self.identity)) } else { Verdict::Unknown }
    }
}

/// Whether the header asks for nothing that we do not do. Members that name keys (`jku`, `x5u`, `jwk`, `x5c`) are not read (SEC-T-03).
fn is_header_right(header: &Json, rules: &Rules) -> bool {
    // We know no extensions, so each one that is critical is unknown. `b64` is one of them.
    let is_plain = header.get("crit").is_none() && header.get("b64").is_none();
    let is_typed = match header.get("typ") {
        _ if is_access_token(header) => true,
        _ if rules.options.access_tokens_only => false,
        None => true,
        // Others are tokens for other purposes, such as `logout+jwt` or `dpop+jwt`.
        Some(_) => text(header, "typ").is_some_and(|kind| kind.eq_ignore_ascii_case("JWT")),
    };
    is_plain && is_typed
}

/// Whether a header says that this is an access token (RFC 9068).
fn is_access_token(header: &Json) -> bool {
    let kind = text(header, "typ").unwrap_or_default().to_ascii_lowercase();
    kind.strip_prefix("application/").unwrap_or(&kind) == "at+jwt"
}

impl Rules {
    /// Whose claims these are, if they are right.
    fn identity(&self, claims: Json, is_access_token: bool, now: SystemTime) -> Option<Identity> {
        let is_for_us = text(&claims, "iss")? == self.issuer
            && texts(&claims.get("aud")?)?.iter().any(|audience| self.audiences.contains(audience));
        if !is_for_us || (!is_access_token && is_id_token(&claims)) {
            return None;
        }
        let skew = self.options.skew;
        let expires = time(&claims, "exp")??.checked_add(skew)?;
        let latest_start = now.checked_add(skew)?;
        let has_begun = |name| Some(time(&claims, name)?.is_none_or(|start| start <= latest_start));
        if expires <= now || !has_begun("nbf")? || !has_begun("iat")? {
            return None;
        }
        let subject = text(&claims, "sub").filter(|subject| !subject.is_empty())?;
        let mut identity = Identity::new(subject, Proof::Jwt).with_expiry(expires);
        identity.bound_to = match claims.get("cnf") {
            None => None,
            Some(confirmation) => Some(certificate(&confirmation)?),
        };
        let scopes = claims.get("scope").or_else(|| claims.get("scp")).and_then(|scopes| texts(&scopes));
        let words = |text: String| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        identity.scopes = scopes.unwrap_or_default().into_iter().flat_map(words).collect();
        identity.roles = at(&claims, &self.options.roles).and_then(|roles| texts(&roles)).unwrap_or_default();
        identity.agent = at(&claims, &self.options.agent).and_then(|agent| agent.decode().ok());
        identity.claims = Some(claims);
        Some(identity)
    }
}

fn is_id_token(claims: &Json) -> bool {
    let says =
        |name: &str, value: &str| text(claims, name).is_some_and(|text| text.eq_ignore_ascii_case(value));
    OF_ID_TOKENS.iter().any(|name| claims.get(name).is_some()) || says("token_use", "id") || says("typ", "ID")
}

/// The fingerprint of the certificate that a token is bound to (RFC 8705, SEC-T-07). None if it is bound to anything else, too: we could not
/// check that.
fn certificate(confirmation: &Json) -> Option<String> {
    if confirmation.members().count() != 1 {
        return None;
    }
    let digest =
        URL_SAFE_NO_PAD.decode(text(confirmation, "x5t#S256")?).ok().filter(|digest| digest.len() == 32)?;
    Some(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// A part of a token: an object in base64url, without padding and without duplicate names.
fn object(part: &str) -> Option<Json> {
    let json = Json::parse(URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    (json.kind() == Kind::Object && json.decode::<Unique>().is_ok()).then_some(json)
}

fn text(object: &Json, name: &str) -> Option<String> {
    object.get(name)?.decode().ok()
}

/// A text or an array of texts.
fn texts(json: &Json) -> Option<Vec<String>> {
    match json.kind() {
        Kind::Array => json.decode().ok(),
        _ => json.decode().ok().map(|text| vec![text]),
    }
}

/// A time in seconds since 1970, with or without a fraction. The outer option is none if the claim is not a time.
fn time(claims: &Json, name: &str) -> Option<Option<SystemTime>> {
    let Some(claim) = claims.get(name) else { return Some(None) };
    let since = Duration::try_from_secs_f64(claim.decode::<f64>().ok()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since).map(Some)
}

/// The value that a JSON pointer names.
fn at(json: &Json, pointer: &str) -> Option<Json> {
    let tokens = pointer.strip_prefix('/')?.split('/');
    tokens
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .try_fold(json.clone(), |json, token| json.get(&token))
}
