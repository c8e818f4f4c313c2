//! Signed replies: how a server signs them, and how a client verifies them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use switchboard_core::codec::encode_error;
use switchboard_core::{Items, Json, Outcome, Reply, Version};

use super::hex::Digest;
use super::member::{Claim, Form, Member};
use super::text::{CoveredItem, CoveredResponse};
use super::{Key, SigningKeys};
use crate::clock::Clock;

/// What is needed to sign the reply to a call.
pub(super) struct ReplySigner {
    pub(super) key: Arc<Key>,
    pub(super) clock: Clock,
    pub(super) version: Version,
    pub(super) id: String,
    /// The key and the nonce of the call.
    pub(super) caller: Arc<Key>,
    pub(super) nonce: Box<[u8]>,
    /// The digest of the call's text.
    pub(super) request: Digest,
}

impl ReplySigner {
    /// Adds a signature, unless the reply has one. The messages of a stream get theirs when they are written.
    pub(super) fn sign(self, mut reply: Reply) -> Reply {
        if signature_of(&reply).is_some() {
            return reply;
        }
        if let Outcome::Stream(_) = &reply.outcome {
            return reply.map_items(|items| self.sign_items(items));
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
        let (version, id, request) = (self.version, &*self.id, self.request.as_bytes());
        let covered = CoveredResponse { version, id, request, items: None, outcome };
        let claim = self.claim();
        let text = covered.text(&claim, self.key.algorithm());
        let Some(sig) = self.key.sign(text.as_bytes()) else { return reply };
        let signature = Claim { sig: &sig, ..claim }.to_members(None, None);
        let extra = reply.extra_mut();
        extra.members = joined(extra.members.as_ref(), signature);
        reply
    }

    /// Signs each message of a stream: it has a number, so that a missing one is noticed.
    fn sign_items(self, items: Items) -> Items {
        let next = AtomicU64::new(0);
        items.sealed(move |method, item| {
            let seq = Some(next.fetch_add(1, Ordering::Relaxed));
            let (version, request, claim) = (self.version, self.request.as_bytes(), self.claim());
            let covered = CoveredItem { version, request, method, item, seq };
            let text = covered.text(&claim, self.key.algorithm()).ok()?;
            let sig = self.key.sign(text.as_bytes())?;
            Some(Claim { sig: &sig, ..claim }.to_members(seq, None))
        })
    }

    /// What the reply claims, without a signature.
    fn claim(&self) -> Claim<'_> {
        Claim {
            kid: self.key.kid().as_bytes(),
            aud: self.caller.kid().as_bytes(),
            ts: Some(self.clock.seconds()),
            exp: None,
            nonce: &self.nonce,
            session: None,
            sig: &[],
        }
    }
}

/// These members and those of an object with a signature.
fn joined(members: Option<&Json>, signature: Json) -> Option<Json> {
    let Some(members) = members else { return Some(signature) };
    let inside = |json: &Json| Some(json.as_str().strip_prefix('{')?.strip_suffix('}')?.trim().to_owned());
    match inside(members).unwrap_or_default().as_str() {
        "" => Some(signature),
        members => Json::parse(format!("{{{members},{}}}", inside(&signature)?)).ok(),
    }
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
    pub(super) request: Digest,
}

/// What a reply's signature comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyVerdict {
    Signed,
    Unsigned,
    Wrong,
}

/// Whether a reply was signed by the server that a call was sent to.
pub(super) fn verify_reply(
    reply: &Reply,
    sent: &SentCall,
    own: &Arc<Key>,
    servers: &SigningKeys,
) -> ReplyVerdict {
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
        // Its messages are signed.
        Outcome::Stream(_) => return ReplyVerdict::Wrong,
    };
    let (version, id, request) = (sent.version, &*sent.id, sent.request.as_bytes());
    let covered = CoveredResponse { version, id, request, items: member.items, outcome };
    let is_signed =
        |key: &Key| key.verifies(covered.text(&member.claim(), key.algorithm()).as_bytes(), &member.sig);
    match server_key(&member.kid, own, servers).is_some_and(|key| is_signed(&key)) {
        true => ReplyVerdict::Signed,
        false => ReplyVerdict::Wrong,
    }
}

/// The key with this name that signs what a server sends: one of its keys, or the own one if both ends hold it.
pub(super) fn server_key(kid: &str, own: &Arc<Key>, servers: &SigningKeys) -> Option<Arc<Key>> {
    let is_shared = kid == own.kid() && own.algorithm() == super::SigningAlgorithm::HmacSha256;
    servers.get(kid).or_else(|| is_shared.then(|| Arc::clone(own)))
}
