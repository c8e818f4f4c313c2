//! Signing and verifying the text of a message, without a connection.

use std::collections::HashSet;

use bytes::Bytes;
use switchboard_core::codec::{Incoming, Message, RequestObject, ResponseObject, ResponseOutcome, decode};
use switchboard_core::{Json, Settings, Version};

use super::member::{Form, Malformed, Member, is_visible};
use super::text::{Covered, CoveredItem, CoveredResponse, IDEMPOTENCY_KEY, SignedText};
use super::verifier::{AcceptedSignature, Reason, Verifier};
use super::{Sign, SigningAlgorithm, SigningKeys};

/// The method of the element that signs a whole batch.
const BATCH_METHOD: &str = "rpc.signature";

/// A message as its signature sees it: a request, a batch that is signed as a whole, or a response.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_layers::signing::{Key, SigningKeys, Sign, SignedMessage, Verifier};
///
/// let line = "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// let sign = Sign::new(Arc::new(line.parse::<Key>()?), "https://bank.example/rpc");
/// let signed = SignedMessage::sign(r#"{"jsonrpc":"2.0","method":"transfer","params":[1],"id":1}"#, &sign)?;
/// let verifier = Verifier::new(SigningKeys::parse(line)?, ["https://bank.example/rpc"]);
/// assert!(SignedMessage::parse(signed.as_bytes())?.verify(&verifier, None).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SignedMessage {
    content: Content,
    signature: Option<Json>,
}

#[derive(Debug)]
enum Content {
    Request(Box<(Covered<'static>, Option<Json>)>),
    Batch(Vec<Covered<'static>>),
    Response { version: Version, id: String, outcome: Result<Json, Json> },
}

/// Why a text cannot be signed or verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It is not a message of the protocol.
    #[error("not a JSON-RPC message: {0}")]
    Invalid(String),
    /// Something in it cannot be signed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It has a signature already.
    #[error("the message has a signature already")]
    Signed,
    /// The key cannot sign, the audience has characters that cannot be written, or there are no random numbers.
    #[error("cannot sign with this key for this audience")]
    CannotSign,
}

impl SignedMessage {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// If it is not a message of the protocol, or has something that cannot be signed.
    pub fn parse(text: &[u8]) -> Result<SignedMessage, MessageError> {
        let incoming = decode(&Bytes::copy_from_slice(text), &Settings::default());
        match incoming.map_err(|error| MessageError::Invalid(error.message.to_string()))? {
            Incoming::Single(Message::Request(request)) => SignedMessage::of_request(&request),
            Incoming::Single(Message::Response(response)) => SignedMessage::of_response(response),
            Incoming::Single(Message::Invalid(invalid)) => {
                Err(MessageError::Invalid(invalid.error.message.to_string()))
            }
            Incoming::Batch(entries) => SignedMessage::of_batch(entries.iter()),
        }
    }

    fn of_request(request: &RequestObject) -> Result<SignedMessage, MessageError> {
        let signature = request.members.as_ref().and_then(|members| members.get("signature"));
        let content = Content::Request(Box::new((covered(request)?, request.params.clone())));
        Ok(SignedMessage { content, signature })
    }

    fn of_response(response: ResponseObject) -> Result<SignedMessage, MessageError> {
        let outcome = match response.outcome {
            ResponseOutcome::Value(json) => Ok(json),
            ResponseOutcome::Stream(json, _) => Ok(json),
            ResponseOutcome::Error(_) => Err(response.error.map_or(Json::NULL, |error| *error)),
            ResponseOutcome::Broken(why) => return Err(MessageError::Invalid(why.to_owned())),
        };
        let signature = response.members.as_ref().and_then(|members| members.get("signature"));
        let content =
            Content::Response { version: response.version, id: response.id.as_str().to_owned(), outcome };
        Ok(SignedMessage { content, signature })
    }

    /// A batch: its first element may sign it.
    fn of_batch(entries: impl Iterator<Item = Message>) -> Result<SignedMessage, MessageError> {
        let (mut covered_entries, mut signature, mut ids) = (Vec::new(), None, HashSet::new());
        for (index, entry) in entries.enumerate() {
            let Message::Request(request) = entry else {
                return Err(MessageError::Invalid("an element of the batch is not a request".to_owned()));
            };
            if request.method.as_str() == BATCH_METHOD {
                signature = Some(batch_signature(&request, index)?);
                continue;
            }
            if let Some(id) = &request.id
                && !ids.insert(id.as_str().to_owned())
            {
                return Err(Malformed { at: "/id" }.into());
            }
            covered_entries.push(covered(&request)?);
        }
        Ok(SignedMessage { content: Content::Batch(covered_entries), signature })
    }

    /// The member that signs it, if there is one.
    ///
    /// # Errors
    ///
    /// If it is malformed.
    pub fn member(&self) -> Result<Option<Member>, Malformed> {
        let form = match self.content {
            Content::Response { .. } => Form::Response,
            _ => Form::Request,
        };
        self.signature.as_ref().map(|json| Member::parse(json, form)).transpose()
    }

    /// The text that the signature of a request or a batch covers. `None` for responses, whose text depends on their request.
    #[must_use]
    pub fn text(&self, member: &Member, algorithm: SigningAlgorithm) -> Option<SignedText> {
        match &self.content {
            Content::Request(request) => Some(request.0.request_text(member, algorithm)),
            Content::Batch(entries) => Some(Covered::batch_text(entries, member, algorithm)),
            Content::Response { .. } => None,
        }
    }

    /// Verifies the signature of a request or a batch. The nonce is not remembered.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn verify(&self, verifier: &Verifier, session: Option<&str>) -> Result<AcceptedSignature, Reason> {
        let member = self.member()?.ok_or(Reason::Missing)?;
        let accepted = self.authenticate(&member, verifier, session)?;
        let is_allowed = match &self.content {
            Content::Request(request) => accepted.key.allows(request.0.method()),
            Content::Batch(entries) => entries.iter().all(|entry| accepted.key.allows(entry.method())),
            Content::Response { .. } => false,
        };
        if is_allowed { Ok(accepted) } else { Err(Reason::OutOfScope) }
    }

    /// The same without a look at what the key is good for.
    pub(super) fn authenticate(
        &self,
        member: &Member,
        verifier: &Verifier,
        session: Option<&str>,
    ) -> Result<AcceptedSignature, Reason> {
        let text = |algorithm| match &self.content {
            Content::Batch(entries) => Covered::batch_text(entries, member, algorithm),
            Content::Request(request) => request.0.request_text(member, algorithm),
            Content::Response { .. } => unreachable!("responses have returned"),
        };
        if matches!(self.content, Content::Response { .. }) {
            return Err(Reason::Missing);
        }
        verifier.verify(member, session, text)
    }

    /// Verifies a response, or an item of a stream, to a request whose text has this [digest](SignedText::digest) and which had this nonce and
    /// was signed by the key `kid`. The time is not checked.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn verify_reply(
        &self,
        keys: &SigningKeys,
        kid: &str,
        nonce: &str,
        request: &str,
    ) -> Result<AcceptedSignature, Reason> {
        let json = self.signature.as_ref().ok_or(Reason::Missing)?;
        let form = if matches!(self.content, Content::Response { .. }) { Form::Response } else { Form::Item };
        let member = Member::parse(json, form)?;
        let text = |algorithm| match &self.content {
            Content::Response { version, id, outcome } => {
                let outcome = outcome.as_ref().map(Json::as_bytes).map_err(Json::as_bytes);
                let covered = CoveredResponse {
                    version: *version,
                    id,
                    request: request.as_bytes(),
                    items: member.items,
                    outcome,
                };
                Ok(covered.text(&member.claim(), algorithm))
            }
            Content::Request(parts) => {
                let (covered, params) = &**parts;
                let item = params.as_ref().map_or(&b""[..], Json::as_bytes);
                let (version, method) = (covered.version(), covered.method());
                let covered =
                    CoveredItem { version, request: request.as_bytes(), method, item, seq: member.seq };
                covered.text(&member.claim(), algorithm)
            }
            Content::Batch(_) => Err(Malformed { at: "" }),
        };
        let key = keys.get(&member.kid).ok_or(Reason::UnknownKey)?;
        let text = text(key.algorithm())?;
        if !key.verifies(text.as_bytes(), &member.sig) || member.nonce != nonce {
            return Err(Reason::BadSignature);
        }
        if member.aud == kid { Ok(AcceptedSignature { key, text }) } else { Err(Reason::WrongAudience) }
    }

    /// Adds a signature to the text of a request or a batch. Nothing else of the text changes.
    ///
    /// # Errors
    ///
    /// If the text is not such a message, is signed already or cannot be signed.
    pub fn sign(text: &str, sign: &Sign) -> Result<String, MessageError> {
        let message = SignedMessage::parse(text.as_bytes())?;
        if message.signature.is_some() {
            return Err(MessageError::Signed);
        }
        let text = text.trim();
        let member = |covered: &dyn Fn(&Member, SigningAlgorithm) -> SignedText| {
            sign.signed(covered).map(|member| member.to_json()).ok_or(MessageError::CannotSign)
        };
        match &message.content {
            Content::Request(request) => {
                let member = member(&|member, algorithm| request.0.request_text(member, algorithm))?;
                let inside = text.strip_suffix('}').unwrap_or(text);
                Ok(format!("{inside},\"signature\":{}}}", member.as_str()))
            }
            Content::Batch(entries) => {
                let member = member(&|member, algorithm| Covered::batch_text(entries, member, algorithm))?;
                let inside = text.strip_prefix('[').unwrap_or(text);
                let element = format!(
                    r#"{{"jsonrpc":"2.0","method":"{BATCH_METHOD}","signature":{}}}"#,
                    member.as_str()
                );
                Ok(format!("[{element},{inside}"))
            }
            Content::Response { .. } => Err(MessageError::Invalid(
                "a response can only be signed by the server that makes it".to_owned(),
            )),
        }
    }
}

/// The signature in the element that signs a batch: it comes first, occurs once and has nothing else.
fn batch_signature(request: &RequestObject, index: usize) -> Result<Json, Malformed> {
    let wrong = Malformed { at: "/0" };
    let members = request.members.as_ref().ok_or(wrong)?;
    let is_alone = request.id.is_none() && request.params.is_none() && request.version == Version::V2;
    if index != 0 || !is_alone || members.members().count() != 1 {
        return Err(wrong);
    }
    members.get("signature").ok_or(wrong)
}

/// What the signature of a request covers. Its idempotency key is in the member `metadata`.
fn covered(request: &RequestObject) -> Result<Covered<'static>, Malformed> {
    let metadata = request.members.as_ref().and_then(|members| members.get("metadata"));
    let mut key = None;
    for (name, value) in metadata.iter().flat_map(Json::members) {
        if name.eq_ignore_ascii_case(IDEMPOTENCY_KEY.as_bytes()) {
            let text = Json::parse(value.to_vec()).ok().and_then(|json| json.decode::<String>().ok());
            let text = text.filter(|text| is_visible(text) && key.is_none());
            key = Some(text.ok_or(Malformed { at: "/metadata/idempotency-key" })?);
        }
    }
    let (id, params) = (request.id.as_ref().map(switchboard_core::Id::as_str), request.params.as_ref());
    let method = request.method.as_str();
    let covered = Covered::new(request.version, id, method, params.map(Json::as_bytes), key.as_deref())?;
    Ok(covered.into_owned())
}
