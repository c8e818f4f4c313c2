//! Signed replies: how a server signs them, and how a client verifies them.

use std::sync::Arc;

use switchboard_core::codec::encode_error;
use switchboard_core::{Json, Outcome, Reply, Version};

use super::member::{Form, Member};
use super::text::CoveredResponse;
use super::{Key, SigningKeys};
use crate::clock::Clock;

/// What is needed to sign the reply to a call.
#[derive(Clone)]
pub(super) struct ReplySigner {
    pub(super) key: Arc<Key>,
    pub(super) clock: Clock,
    pub(super) version: Version,
    pub(super) id: String,
    /// The key and the nonce of the call.
    pub(super) kid: String,
    pub(super) nonce: String,
    /// The digest of the call's text.
    pub(super) request: String,
}

impl ReplySigner {
    /// Adds a signature, unless the reply has one or is a stream.
    pub(super) fn sign(&self, mut reply: Reply) -> Reply {
        if signature_of(&reply).is_some() {
            return reply;
        }
        let mut error = Vec::new();
        let outcome = match &reply.outcome {
            Outcome::Value(json) => Ok(json.as_bytes()),
            Outcome::Error(object) => {
                encode_error(&mut error, object);
                Err(&error[..])
            }
            Outcome::Stream(_) => return reply,
        };
        let covered =
            CoveredResponse { version: self.version, id: &self.id, request: &self.request, outcome };
        let mut member = Member {
            kid: self.key.kid().to_owned(),
            aud: self.kid.clone(),
            ts: Some(self.clock.seconds()),
            exp: None,
            nonce: self.nonce.clone(),
            session: None,
            seq: None,
            items: None,
            sig: Vec::new(),
        };
        let text = covered.text(&member, self.key.algorithm());
        let Some(sig) = self.key.sign(text.as_bytes()) else { return reply };
        member.sig = sig;
        let extra = reply.extra_mut();
        extra.members = with_signature(extra.members.as_ref(), &member);
        reply
    }
}

/// These members and a signature.
pub(super) fn with_signature(members: Option<&Json>, member: &Member) -> Option<Json> {
    let inside = members.and_then(|members| members.as_str().strip_prefix('{')?.strip_suffix('}'));
    let inside = inside.map(str::trim).unwrap_or_default();
    let comma = if inside.is_empty() { "" } else { "," };
    Json::parse(format!(r#"{{{inside}{comma}"signature":{}}}"#, member.to_json().as_str())).ok()
}

fn signature_of(reply: &Reply) -> Option<Json> {
    reply.extra.as_ref()?.members.as_ref()?.get("signature")
}

/// A call that was sent, as far as it is needed to verify its reply.
#[derive(Clone, Debug)]
pub(super) struct SentCall {
    pub(super) version: Version,
    pub(super) id: String,
    pub(super) nonce: String,
    pub(super) request: String,
}

/// What a reply's signature comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyVerdict {
    Signed,
    Unsigned,
    Wrong,
}

/// Whether a reply was signed by the server that a call was sent to.
pub(super) fn verify_reply(reply: &Reply, sent: &SentCall, own: &Key, servers: &SigningKeys) -> ReplyVerdict {
    let Some(json) = signature_of(reply) else { return ReplyVerdict::Unsigned };
    let Ok(member) = Member::parse(&json, Form::Response) else { return ReplyVerdict::Wrong };
    if member.nonce != sent.nonce || member.aud != own.kid() {
        return ReplyVerdict::Wrong;
    }
    let mut written = Vec::new();
    let outcome = match &reply.outcome {
        Outcome::Value(json) => Ok(json.as_bytes()),
        Outcome::Error(error) => Err(match reply.extra.as_ref().and_then(|extra| extra.error.as_ref()) {
            Some(received) => received.as_bytes(),
            None => {
                encode_error(&mut written, error);
                &written[..]
            }
        }),
        Outcome::Stream(_) => return ReplyVerdict::Wrong,
    };
    let covered = CoveredResponse { version: sent.version, id: &sent.id, request: &sent.request, outcome };
    let is_signed_by =
        |key: &Key| key.verifies(covered.text(&member, key.algorithm()).as_bytes(), &member.sig);
    // The own key signs replies only if both ends hold it.
    let is_shared = member.kid == own.kid() && own.algorithm() == super::SigningAlgorithm::HmacSha256;
    let is_signed = match servers.get(&member.kid) {
        Some(key) => is_signed_by(&key),
        None => is_shared && is_signed_by(own),
    };
    if is_signed { ReplyVerdict::Signed } else { ReplyVerdict::Wrong }
}
