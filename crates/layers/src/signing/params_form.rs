//! Signatures inside params, as tutorials show them.

use switchboard_core::{Call, Name};

use super::member::{Malformed, Member, is_token, seconds, signature, string};
use super::text::Covered;
use super::verifier::Reason;
use crate::Pattern;

/// Accepts signatures inside params: `{"amount": 100, "timestamp": 1728623456, "nonce": "xy12", "signature": "…"}`.
///
/// The text is that of a request with `kind=params`. Its params are those of the call with `""` in the place of the signature, so a client
/// serialises the params with an empty signature, signs, and fills it in.
#[derive(Clone, Debug)]
pub struct ParamsForm {
    methods: Vec<Pattern>,
    kid: Option<String>,
    is_nonce_required: bool,
}

/// What such params say.
pub(super) struct Found<'a> {
    /// In the form of a member beside the params.
    pub(super) member: Member,
    /// What the signature covers, if a signature is required.
    pub(super) covered: Option<Covered<'a>>,
}

impl ParamsForm {
    /// Accepts signatures by this key in calls of these methods.
    pub fn signed(methods: impl IntoIterator<Item = Pattern>, kid: impl Into<String>) -> ParamsForm {
        ParamsForm { methods: methods.into_iter().collect(), kid: Some(kid.into()), is_nonce_required: true }
    }

    /// Requires a timestamp and a nonce, but no signature, in calls of these methods. This stops accidental repetitions. It does not stop an
    /// attacker, who can change the nonce.
    pub fn unsigned(methods: impl IntoIterator<Item = Pattern>) -> ParamsForm {
        ParamsForm { methods: methods.into_iter().collect(), kid: None, is_nonce_required: true }
    }

    /// Also accepts signatures without a timestamp and a nonce. They prove who signed, and do not stop replays.
    #[must_use]
    pub fn without_nonce(self) -> ParamsForm {
        ParamsForm { is_nonce_required: false, ..self }
    }

    pub(super) fn applies_to(&self, method: &Name) -> bool {
        self.methods.iter().any(|pattern| pattern.matches(method))
    }

    /// Whether calls have no signature.
    pub(super) fn is_unsigned(&self) -> bool {
        self.kid.is_none()
    }

    /// Reads the params of a call. The audience is that of the server.
    pub(super) fn read<'a>(&self, call: &'a Call, aud: &str) -> Result<Found<'a>, Reason> {
        let wrong = |at| Reason::Malformed(Malformed { at });
        let params = call.params.as_ref().ok_or(Reason::Missing)?;
        let (mut ts, mut nonce, mut sig) = (None, None, None);
        for (name, value) in params.members() {
            match &*name {
                b"timestamp" => ts = Some(seconds(value).ok_or_else(|| wrong("/params/timestamp"))?),
                b"nonce" => {
                    let is_nonce = |text: &&str| (1..=64).contains(&text.len()) && is_token(text);
                    let text = string(value).filter(is_nonce);
                    nonce = Some(text.ok_or_else(|| wrong("/params/nonce"))?);
                }
                b"signature" => sig = Some(value),
                _ => {}
            }
        }
        if self.is_nonce_required && (ts.is_none() || nonce.is_none()) {
            return Err(Reason::Missing);
        }
        let (sig, covered) = match &self.kid {
            None => (Vec::new(), None),
            Some(_) => {
                let written = sig.ok_or(Reason::Missing)?;
                let bytes = string(written).and_then(signature);
                let bytes = bytes.ok_or_else(|| wrong("/params/signature"))?;
                let covered = Covered::of_call(call)?.with_params(&without(params.as_bytes(), written));
                (bytes, Some(covered))
            }
        };
        let member = Member {
            kid: self.kid.clone().unwrap_or_default(),
            aud: aud.to_owned(),
            ts,
            exp: None,
            nonce: nonce.unwrap_or("").to_owned(),
            session: None,
            seq: None,
            items: None,
            sig,
        };
        Ok(Found { member, covered })
    }
}

/// The text with `""` in the place of a part of it.
fn without(text: &[u8], part: &[u8]) -> Vec<u8> {
    // The part is a slice of the text, so the distance of their addresses is its place.
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    [&text[..start], b"\"\"", &text[start + part.len()..]].concat()
}
