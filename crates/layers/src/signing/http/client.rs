//! Signing the HTTP requests of a client.

use std::sync::Arc;

use switchboard_core::{CallError, Metadata, OutgoingRequest, Seal, SealedRequest};

use super::super::replies::ReplyVerdict;
use super::super::{Sign, hex};
use super::base::{Seen, SeenRequest};
use super::fields::{CONTENT_DIGEST, Component, content_digest};
use super::response::SentRequest;
use super::{REQUEST_TAG, headers, params};

/// Signs every HTTP request of a client, and verifies the responses.
pub(crate) struct HttpSeal(pub(crate) Sign);

impl Seal for HttpSeal {
    fn seal(&self, request: &OutgoingRequest<'_>) -> Result<Option<SealedRequest>, CallError> {
        let sign = self.0.clone();
        let sealed = self.sign(request).ok_or_else(|| {
            CallError::Transport(
                "the request cannot be signed: the key cannot sign, or a header is invalid".into(),
            )
        });
        let (headers, sent) = sealed?;
        let check = move |answer: &switchboard_core::AnswerHead<'_>, headers: &Metadata| match sent.verify(
            answer,
            headers,
            &sign.key,
            &sign.servers,
        ) {
            ReplyVerdict::Signed => Ok(()),
            ReplyVerdict::Unsigned if !sign.requires_replies => Ok(()),
            ReplyVerdict::Unsigned => Err(CallError::Protocol(
                format!("the response is not signed (HTTP status {})", answer.status).into(),
            )),
            ReplyVerdict::Wrong => Err(CallError::Protocol("the signature of the response is wrong".into())),
        };
        Ok(Some(SealedRequest::new(headers, check)))
    }
}

impl HttpSeal {
    fn sign(&self, request: &OutgoingRequest<'_>) -> Option<(Metadata, SentRequest)> {
        let Sign { key, clock, .. } = &self.0;
        let (digest, nonce) = (content_digest(request.body), hex::random::<16>().ok()?);
        let mut names = vec!["@method", "@authority", "@path"];
        if request.head.query.is_some() {
            names.push("@query");
        }
        names.extend(["content-type", CONTENT_DIGEST]);
        let if_present = ["content-encoding", "idempotency-key", "mcp-session-id"];
        names.extend(if_present.into_iter().filter(|name| request.headers.get(name).is_some()));
        let written = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" ");
        let params = params(&written, clock.seconds(), &nonce, key.kid(), REQUEST_TAG);
        let mut seen = request.headers.clone();
        seen.insert(CONTENT_DIGEST, digest.clone());
        let components: Vec<Component> =
            names.iter().map(|name| Component { name: (*name).to_owned(), is_of_request: false }).collect();
        let view = Seen { request: SeenRequest { head: request.head, headers: &seen }, response: None };
        let text = view.text(&components, &params).ok()?;
        let signature = key.sign(text.as_bytes())?;
        let sent = SentRequest { head: Arc::new(request.head.clone()), headers: seen, nonce };
        Some((headers(&params, &signature, digest), sent))
    }
}
