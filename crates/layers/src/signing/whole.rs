//! Signatures of whole messages: of an HTTP request, and of a batch by its first entry.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::{Context, Input};
use tokio::sync::OnceCell;

use super::SignedMessage;
use super::checks::{Failure, Signature};
use super::http::{ResponseSigner, SignedRequest};
use super::layer::Inner;
use super::message::MessageError;
use super::verifier::Reason;

/// What signs a whole message, decided once for all its calls.
pub(super) struct Whole {
    pub(super) http: Option<Result<Signature, Failure>>,
    pub(super) batch: Option<Result<Signature, Failure>>,
    /// Whether the answer may be an event stream, of which headers cover nothing.
    pub(super) is_in_parts: bool,
    /// Whether the nonces are new, once they were inserted.
    pub(super) claimed: OnceCell<Result<(), Failure>>,
}

/// What each [`Verify`](super::Verify) decided, by its address: the decision of one does not count for another.
#[derive(Default)]
struct Decisions(Mutex<Vec<(usize, Arc<Whole>)>>);

impl Whole {
    /// What was decided about the message that a call came in; none if only calls can be signed.
    pub(super) fn of(cx: &Context, verify: &Arc<Inner>) -> Option<Arc<Whole>> {
        let input = Input::of(cx)?;
        let decisions = input.decide(Decisions::default);
        let mut decisions = decisions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(verify).addr();
        if let Some((_, whole)) = decisions.iter().find(|(of, _)| *of == address) {
            return Some(Arc::clone(whole));
        }
        let whole = Arc::new(Whole::decide(cx, &input, verify));
        decisions.push((address, Arc::clone(&whole)));
        Some(whole)
    }

    fn decide(cx: &Context, input: &Input, verify: &Inner) -> Whole {
        let http = check_request(cx, input, verify).transpose();
        let batch = check_batch(cx, input, verify).transpose();
        let whole = Whole { http, batch, is_in_parts: input.is_in_parts(), claimed: OnceCell::new() };
        whole.sign_response(cx, input, verify);
        whole
    }

    /// The signatures of the request and of the batch, if they are right.
    pub(super) fn signatures(&self) -> Result<(Option<&Signature>, Option<&Signature>), Failure> {
        let http = self.http.as_ref().map(Result::as_ref).transpose();
        let batch = self.batch.as_ref().map(Result::as_ref).transpose();
        Ok((http.map_err(Failure::clone)?, batch.map_err(Failure::clone)?))
    }

    /// Has the response to a signed HTTP request signed. If the request is refused later, the refusal is signed.
    fn sign_response(&self, cx: &Context, input: &Input, verify: &Inner) {
        let (Some(Ok(request)), Some(head)) = (&self.http, input.head()) else { return };
        let Some(key) = verify.reply_key(&request.accepted.key) else { return };
        let signer = ResponseSigner {
            key,
            clock: verify.verifier.clock.clone(),
            head: verify.seen_head(head),
            headers: cx.metadata().clone(),
            nonce: request.member.nonce.clone(),
        };
        input.seal_answer(move |answer| signer.headers(answer));
    }
}

fn check_request(cx: &Context, input: &Input, verify: &Inner) -> Result<Option<Signature>, Failure> {
    let Some(head) = input.head() else { return Ok(None) };
    let (head, headers) = (verify.seen_head(head), cx.metadata());
    let Some(request) = SignedRequest::read(&head, headers, &verify.verifier.audiences)? else {
        return Ok(None);
    };
    let accepted = request.verify(&head, headers, input.text(), &verify.verifier);
    accepted
        .and_then(|accepted| verify.check_time(request.member.ts).map(|()| accepted))
        .map(|accepted| {
            Some(Signature { member: request.member.clone(), accepted, now: verify.verifier.clock.seconds() })
        })
        .map_err(|reason| Failure { reason, member: Some(Box::new(request.member)), ..Failure::default() })
}

fn check_batch(cx: &Context, input: &Input, verify: &Inner) -> Result<Option<Signature>, Failure> {
    if !input.text().trim_ascii_start().starts_with(b"[") {
        return Ok(None);
    }
    let message = match SignedMessage::parse(input.text()) {
        Ok(message) => message,
        Err(MessageError::Malformed(malformed)) => return Err(Reason::from(malformed).into()),
        // An entry is not a request, so nobody can have signed the batch.
        Err(_) => return Err(Reason::Malformed(super::Malformed { at: "/0" }).into()),
    };
    let Some(member) = message.member().map_err(Reason::from)? else { return Ok(None) };
    let session = member.session.as_ref().map(|_| cx.session().id());
    let accepted = message.authenticate(&member, &verify.verifier, session);
    accepted
        .and_then(|accepted| verify.check_time(member.ts).map(|()| accepted))
        .map(|accepted| {
            Some(Signature { member: member.clone(), accepted, now: verify.verifier.clock.seconds() })
        })
        .map_err(|reason| Failure { reason, member: Some(Box::new(member)), ..Failure::default() })
}
