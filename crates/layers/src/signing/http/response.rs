//! Signed HTTP responses.

use std::sync::Arc;

use switchboard_core::{AnswerHead, Metadata, RequestHead};

use super::super::replies::{ReplyVerdict, server_key};
use super::super::{Key, SigningKeys};
use super::base::{Seen, SeenRequest, SeenResponse};
use super::fields::{CONTENT_DIGEST, Component, HttpSignature, content_digest, field, is_digest_of};
use super::{RESPONSE_TAG, SharedHead, headers, params};
use crate::clock::Clock;

/// What a response covers. It is bound to its request by the parts of the request and by the nonce.
const COVERED: [(&str, bool); 7] = [
    ("@status", false),
    ("content-type", false),
    (CONTENT_DIGEST, false),
    ("@method", true),
    ("@authority", true),
    ("@path", true),
    (CONTENT_DIGEST, true),
];

/// Signs the response to a request.
pub(crate) struct ResponseSigner {
    pub(crate) key: Arc<Key>,
    pub(crate) clock: Clock,
    pub(crate) head: RequestHead,
    pub(crate) headers: Metadata,
    pub(crate) nonce: String,
}

impl ResponseSigner {
    /// The headers to add.
    pub(crate) fn headers(&self, answer: &AnswerHead<'_>) -> Metadata {
        let digest = content_digest(answer.body);
        let components: Vec<Component> = covered(answer.content_type.is_some()).collect();
        let written = components.iter().map(written).collect::<Vec<_>>().join(" ");
        let params = params(&written, self.clock.seconds(), &self.nonce, self.key.kid(), RESPONSE_TAG);
        let mut seen = Metadata::default();
        seen.insert(CONTENT_DIGEST, digest.clone());
        if let Some(content_type) = answer.content_type {
            seen.insert("content-type", content_type.to_owned());
        }
        let seen = Seen {
            request: SeenRequest { head: &self.head, headers: &self.headers },
            response: Some(SeenResponse { status: answer.status, headers: &seen }),
        };
        let text = seen.text(&components, &params).ok();
        match text.and_then(|text| self.key.sign(text.as_bytes())) {
            Some(signature) => headers(&params, &signature, digest),
            None => Metadata::default(),
        }
    }
}

fn covered(has_type: bool) -> impl Iterator<Item = Component> {
    let names = COVERED.into_iter().filter(move |(name, _)| has_type || *name != "content-type");
    names.map(|(name, is_of_request)| Component { name: name.to_owned(), is_of_request })
}

fn written(component: &Component) -> String {
    format!("\"{}\"{}", component.name, if component.is_of_request { ";req" } else { "" })
}

/// A request that was sent, as far as it is needed to verify its response.
pub(super) struct SentRequest {
    pub(super) head: SharedHead,
    pub(super) headers: Metadata,
    pub(super) nonce: String,
}

impl SentRequest {
    /// Whether a response was signed by the server that the request was sent to.
    pub(super) fn verify(
        &self,
        answer: &AnswerHead<'_>,
        headers: &Metadata,
        own: &Arc<Key>,
        servers: &SigningKeys,
    ) -> ReplyVerdict {
        let signature = match HttpSignature::find(headers, RESPONSE_TAG) {
            Ok(Some(signature)) => signature,
            Ok(None) => return ReplyVerdict::Unsigned,
            Err(_) => return ReplyVerdict::Wrong,
        };
        let is_covered =
            covered(answer.content_type.is_some()).all(|part| signature.components.contains(&part));
        let digest = field(headers, CONTENT_DIGEST).and_then(|field| is_digest_of(&field, answer.body).ok());
        if !is_covered || digest != Some(true) || signature.nonce != self.nonce {
            return ReplyVerdict::Wrong;
        }
        let seen = Seen {
            request: SeenRequest { head: &self.head, headers: &self.headers },
            response: Some(SeenResponse { status: answer.status, headers }),
        };
        let Ok(text) = seen.text(&signature.components, &signature.params) else {
            return ReplyVerdict::Wrong;
        };
        let is_signed_by = |key: &Key| {
            let is_algorithm = signature.alg.as_deref().is_none_or(|alg| alg == key.algorithm().name());
            is_algorithm && key.verifies(text.as_bytes(), &signature.bytes)
        };
        match server_key(&signature.keyid, own, servers).is_some_and(|key| is_signed_by(&key)) {
            true => ReplyVerdict::Signed,
            false => ReplyVerdict::Wrong,
        }
    }
}
