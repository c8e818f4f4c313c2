//! What is checked of a call before it may run: steps 2 to 8 of a verification.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Context, FromContext as _, Input, Json, Members, Name};

use super::hop::Hop;
use super::layer::Inner;
use super::member::{Claim, Member};
use super::params_form::ParamsForm;
use super::replies::ReplySigner;
use super::text::{Covered, SignedText};
use super::verifier::{AcceptedSignature, Reason};
use super::whole::Whole;
use crate::identity::{Identity, Proof};

/// A signature that is right.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) member: Member,
    pub(super) accepted: AcceptedSignature,
    /// When that was decided, in seconds since 1970.
    pub(super) now: u64,
}

/// A refusal with what is known of the signature.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) member: Option<Box<Member>>,
    /// How long to wait, if the store is full.
    pub(super) wait: Duration,
}

impl Default for Failure {
    fn default() -> Failure {
        Failure { reason: Reason::Missing, member: None, wait: Duration::ZERO }
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure { reason, ..Failure::default() }
    }
}

/// A call that may run if its nonces are new.
pub(super) struct Fresh {
    /// What is inserted for this call alone, in this order.
    pub(super) nonces: Vec<Nonce>,
    /// Who called; none in the form without signatures.
    pub(super) identity: Option<Arc<Identity>>,
    /// Who signs the reply, if it is signed.
    pub(super) replies: Option<ReplySigner>,
}

/// A nonce to insert.
#[derive(Clone)]
pub(super) struct Nonce {
    pub(super) member: Member,
    /// The caller, in the form without signatures.
    caller: Option<String>,
    /// When it was checked, in seconds since 1970.
    pub(super) now: u64,
}

impl Nonce {
    /// The name under which it is remembered: that of the key, or of the caller.
    pub(super) fn name(&self) -> &[u8] {
        self.caller.as_deref().unwrap_or(&self.member.kid).as_bytes()
    }

    /// The key for whose share of the store it counts.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.caller.is_none().then_some(self.member.kid.as_bytes())
    }

    /// The nonce of a member that was checked at this time.
    pub(super) fn of_key(member: Member, now: u64) -> Nonce {
        Nonce { member, caller: None, now }
    }
}

impl From<Signature> for Nonce {
    fn from(signature: Signature) -> Nonce {
        Nonce::of_key(signature.member, signature.now)
    }
}

/// The signatures of one call, and those of the message that it came in.
#[derive(Default)]
struct Found {
    http: Option<Signature>,
    batch: Option<Signature>,
    hop: Option<(Signature, Option<String>)>,
    own: Option<Signature>,
}

impl Inner {
    /// Whether a call has no signature, nor one of the message that it came in, and needs none.
    #[inline]
    pub(super) fn is_free(&self, call: &Call) -> bool {
        // Most contexts have nothing attached, so there is nothing to look through.
        let is_unsigned = call.cx.extensions().is_empty() || is_unsigned(&call.cx);
        is_unsigned && self.forms.is_empty() && !self.requires(&call.method)
    }

    /// Whether calls of a method must be signed.
    #[inline]
    fn requires(&self, method: &Name) -> bool {
        self.required.iter().any(|pattern| pattern.matches(method))
    }

    /// Checks everything but nonces. None if the call is not signed and need not be.
    pub(super) fn check(&self, call: &Call, whole: Option<&Whole>) -> Result<Option<Fresh>, Failure> {
        let members = call.cx.get::<Members>().map(|members| &members.0);
        if whole.is_none() && members.is_none() {
            return self.check_params(call);
        }
        let mut found = Found::default();
        if let Some(whole) = whole {
            let (http, batch) = whole.signatures()?;
            (found.http, found.batch) = (http.cloned(), batch.cloned());
        }
        match members.map_or([None, None], |members| members.pick(["signature", "hop"])) {
            [own, Some(hop)] => self.check_hop(call, own.as_ref(), &hop, &mut found)?,
            [Some(own), None] => found.own = Some(self.check_member(call, &own)?),
            [None, None] if found.http.is_none() && found.batch.is_none() => return self.check_params(call),
            [None, None] => {}
        }
        self.accept(call, found, whole.is_some_and(|whole| whole.is_in_parts)).map(Some)
    }

    /// Checks the member beside the params.
    fn check_member(&self, call: &Call, json: &Json) -> Result<Signature, Failure> {
        let member = Member::of_request(json).map_err(Reason::from)?;
        let covered = Covered::of_call(call).map_err(Reason::from)?;
        self.verify_call(call, member, |member, algorithm| covered.request_text(member, algorithm))
    }

    /// Checks the member of a gateway, and that of the caller for the call as it was.
    fn check_hop(
        &self,
        call: &Call,
        own: Option<&Json>,
        hop: &Json,
        found: &mut Found,
    ) -> Result<(), Failure> {
        let hop = Hop::read(hop).map_err(Reason::from)?;
        let forwarded = Covered::of_call(call).map_err(Reason::from)?;
        let original = hop.original(call).map_err(Reason::from)?;
        let mut inner = String::new();
        if let Some(own) = own {
            let member = Member::of_request(own).map_err(Reason::from)?;
            let text = |member: &Member, algorithm| original.request_text(member, algorithm);
            let own = self.verify_call(call, member, text)?;
            inner = own.accepted.text.digest();
            found.own = Some(own);
        }
        let text = |_: &Member, algorithm| hop.text(&forwarded, &inner, algorithm);
        let signature = self.verify_call(call, hop.member.clone(), text)?;
        let key = &signature.accepted.key;
        let fail =
            |reason| Failure { reason, member: Some(Box::new(hop.member.clone())), ..Failure::default() };
        if !key.forwards() {
            return Err(fail(Reason::OutOfScope));
        }
        if !hop.is_allowed(key, call.method.as_str()) {
            return Err(fail(Reason::BadSignature));
        }
        found.hop = Some((signature, hop.sub));
        Ok(())
    }

    fn verify_call(
        &self,
        call: &Call,
        member: Member,
        text: impl FnOnce(&Member, super::SigningAlgorithm) -> SignedText,
    ) -> Result<Signature, Failure> {
        let session = member.session.as_ref().map(|_| call.cx.session().id());
        let now = self.verifier.clock.seconds();
        let verified =
            self.verifier.verify_at(now, &member.claim(), session, |algorithm| text(&member, algorithm));
        let checked = verified.and_then(|accepted| self.check_time(member.ts).map(|()| accepted));
        match checked {
            Ok(accepted) => Ok(Signature { member, accepted, now }),
            Err(reason) => Err(Failure { reason, member: Some(Box::new(member)), ..Failure::default() }),
        }
    }

    /// Whether nonces of that time are remembered.
    pub(super) fn check_time(&self, ts: Option<u64>) -> Result<(), Reason> {
        let is_forgotten = ts.is_some_and(|ts| !self.nonces.covers(ts));
        if is_forgotten { Err(Reason::Expired) } else { Ok(()) }
    }

    /// Decides who called, and whether the keys are good for that.
    fn accept(&self, call: &Call, found: Found, is_in_parts: bool) -> Result<Fresh, Failure> {
        let caller = found.own.as_ref().or(found.batch.as_ref());
        // The one that is not the caller forwards, and must be allowed to.
        if let (Some(http), Some(caller)) = (&found.http, caller)
            && http.member.kid != caller.member.kid
            && !http.accepted.key.forwards()
        {
            return Err(out_of_scope(http));
        }
        let identity = match (caller.or(found.http.as_ref()), &found.hop) {
            (Some(caller), _) => {
                if !caller.accepted.key.allows(&call.method) {
                    return Err(out_of_scope(caller));
                }
                Arc::clone(caller.accepted.key.identity())
            }
            (None, Some((_, Some(sub)))) => Arc::new(Identity::new(sub, Proof::Signature)),
            (None, Some((hop, None))) => Arc::clone(hop.accepted.key.identity()),
            (None, None) => return Err(Reason::Missing.into()),
        };
        // An HTTP response is signed by its headers, unless it comes in parts.
        let signer = caller.or(found.http.as_ref().filter(|_| is_in_parts));
        let signer = signer.or(found.hop.as_ref().map(|(hop, _)| hop));
        let replies = signer.and_then(|signature| self.reply_signer(call, signature, found.hop.is_some()));
        let own = found.hop.into_iter().map(|(hop, _)| hop).chain(found.own);
        Ok(Fresh { nonces: own.map(Nonce::from).collect(), identity: Some(identity), replies })
    }

    /// Checks a call without a signature: it may have one in its params.
    fn check_params(&self, call: &Call) -> Result<Option<Fresh>, Failure> {
        let method = &call.method;
        if let Some(form) = self.forms.iter().find(|form| form.applies_to(method)) {
            return self.checked_params(call, form).map(Some);
        }
        if self.requires(method) { Err(Reason::Missing.into()) } else { Ok(None) }
    }

    fn checked_params(&self, call: &Call, form: &ParamsForm) -> Result<Fresh, Failure> {
        let aud = self.verifier.audiences.first().map_or("", String::as_str);
        let read = form.read(call, aud)?;
        let member = read.member;
        let Some(covered) = read.covered else {
            let (ts, now) = (member.ts.unwrap_or(0), self.verifier.clock.seconds());
            if let Err(reason) = self.verifier.window.check(ts, None, now) {
                return Err(Failure { reason, member: Some(Box::new(member)), ..Failure::default() });
            }
            let nonce = Nonce { member, caller: Some(caller_name(call)), now };
            return Ok(Fresh { nonces: vec![nonce], identity: None, replies: None });
        };
        let text = |member: &Member, algorithm| covered.params_text(member, algorithm);
        let signature = self.verify_call(call, member, text)?;
        if !signature.accepted.key.allows(&call.method) {
            return Err(out_of_scope(&signature));
        }
        let identity = Arc::clone(signature.accepted.key.identity());
        Ok(Fresh { nonces: vec![signature.into()], identity: Some(identity), replies: None })
    }

    fn reply_signer(&self, call: &Call, signature: &Signature, is_forwarded: bool) -> Option<ReplySigner> {
        let mut signer = self.signer_for(call, &signature.accepted, &signature.member.claim())?;
        // The response has the identifier that the caller wrote.
        if let Some(original) = is_forwarded.then(|| signature.accepted.text.line_of("id")).flatten() {
            signer.id = original.to_owned();
        }
        Some(signer)
    }

    /// What signs the reply to a call with this signature, if it is signed.
    pub(super) fn signer_for(
        &self,
        call: &Call,
        accepted: &AcceptedSignature,
        claim: &Claim<'_>,
    ) -> Option<ReplySigner> {
        Some(ReplySigner {
            key: self.reply_key(&accepted.key)?,
            caller: Arc::clone(&accepted.key),
            clock: self.verifier.clock.clone(),
            version: call.cx.version,
            id: call.id()?.as_str().to_owned(),
            nonce: claim.nonce.into(),
            request: accepted.text.sha256(),
        })
    }
}

/// Whether neither a call nor the message that it came in has a signature.
#[inline(never)]
fn is_unsigned(cx: &Context) -> bool {
    cx.get::<Members>().is_none() && Input::of(cx).is_none()
}

fn out_of_scope(signature: &Signature) -> Failure {
    let member = Some(Box::new(signature.member.clone()));
    Failure { reason: Reason::OutOfScope, member, ..Failure::default() }
}

/// Under which name nonces without a signature are remembered: the caller's, else its address.
fn caller_name(call: &Call) -> String {
    match (Identity::from_context(&call.cx), call.cx.origin().address) {
        (Some(identity), _) => format!("subject {}", identity.subject),
        (None, Some(address)) => format!("address {}", address.ip()),
        (None, None) => "address".to_owned(),
    }
}
