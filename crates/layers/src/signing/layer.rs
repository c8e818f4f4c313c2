//! The layer that verifies calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, FromContext as _, Layer, Reply, ReplyFuture, Service};

use super::member::Member;
use super::params_form::ParamsForm;
use super::refusal::Refused;
use super::replay::{Nonces, Window};
use super::replies::ReplySigner;
use super::text::{Covered, member_of};
use super::verifier::{AcceptedSignature, Reason, Verifier};
use super::{Key, SigningKeys};
use crate::access::Pattern;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::identity::{Attached, Identity};
use crate::store::{Store, StoreError};

/// Verifies signed calls, and refuses replays. A signed call has the [`Identity`] of its key.
///
/// By default every call must be signed. A wrong signature is always refused. Its replies are signed too, if the caller's key is an
/// HMAC key or the server has a [key for replies](Verify::with_reply_key). Put this layer outside of the others.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{ErrorObject, Layer, Router};
/// use switchboard_layers::signing::{SigningKeys, Verify};
/// use switchboard_layers::store::MemoryStore;
///
/// let keys = SigningKeys::parse("bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob")?;
/// let verify = Verify::new(keys, ["https://bank.example/rpc"], Arc::new(MemoryStore::default()));
/// let router = Router::builder().method("transfer", |_: (u64,), _| Ok::<_, ErrorObject>("done")).build()?;
/// let service = router.layered(verify.required_for(["transfer".parse()?]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Verify(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    verifier: Verifier,
    store: Arc<dyn Store>,
    nonces: Nonces,
    /// The methods that must be signed.
    required: Vec<Pattern>,
    forms: Vec<ParamsForm>,
    signs_replies: bool,
    reply_key: Option<Arc<Key>>,
    audit: Audit,
}

impl Verify {
    /// Accepts calls that are signed by these keys for these audiences, and remembers their nonces in this store.
    ///
    /// An audience is what clients call this server: its address, such as `https://bank.example/rpc`. Audiences are compared byte for byte.
    pub fn new<A: Into<String>>(
        keys: SigningKeys,
        audiences: impl IntoIterator<Item = A>,
        store: Arc<dyn Store>,
    ) -> Verify {
        Verify(Arc::new(Inner {
            verifier: Verifier::new(keys, audiences),
            nonces: Nonces::new(Arc::clone(&store), ""),
            store,
            required: "**".parse().into_iter().collect(),
            forms: Vec::new(),
            signs_replies: true,
            reply_key: None,
            audit: Audit::default(),
        }))
    }

    /// Requires signatures only for these methods. Signatures of other calls are verified if they are there.
    #[must_use]
    pub fn required_for(self, methods: impl IntoIterator<Item = Pattern>) -> Verify {
        self.changed(|inner| inner.required = methods.into_iter().collect())
    }

    /// Sets how old messages may be.
    #[must_use]
    pub fn with_window(self, window: Window) -> Verify {
        self.changed(|inner| inner.verifier.window = window)
    }

    /// Sets the name of the service. Services with different names can share a store and see the same message.
    #[must_use]
    pub fn with_realm(self, realm: &str) -> Verify {
        self.changed(|inner| inner.nonces = Nonces::new(Arc::clone(&inner.store), realm))
    }

    /// Tells the time by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Verify {
        self.changed(|inner| inner.verifier.clock = clock)
    }

    /// Also accepts signatures inside params.
    #[must_use]
    pub fn with_params_form(self, form: ParamsForm) -> Verify {
        self.changed(|inner| inner.forms.push(form))
    }

    /// Signs replies with this Ed25519 key of the server, which clients know.
    #[must_use]
    pub fn with_reply_key(self, key: Arc<Key>) -> Verify {
        self.changed(|inner| inner.reply_key = Some(key))
    }

    /// Does not sign replies.
    #[must_use]
    pub fn without_signed_replies(self) -> Verify {
        self.changed(|inner| inner.signs_replies = false)
    }

    /// Records refused calls in this audit log.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Verify {
        self.changed(|inner| inner.audit = audit)
    }

    fn changed(self, change: impl FnOnce(&mut Inner)) -> Verify {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Verify(Arc::new(inner))
    }
}

impl fmt::Debug for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").field("verifier", &self.0.verifier).finish_non_exhaustive()
    }
}

impl Layer for Verify {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Verified { verify: Arc::clone(&self.0), inner })
    }
}

/// A service behind [`Verify`].
struct Verified {
    verify: Arc<Inner>,
    inner: Arc<dyn Service>,
}

/// A call that may run if its nonce is new.
struct Fresh {
    /// The name under which nonces are remembered: that of the key, or of the caller in the form without signatures.
    name: String,
    member: Member,
    /// None in the form without signatures.
    accepted: Option<AcceptedSignature>,
    /// Who signs the reply, if it is signed.
    replies: Option<ReplySigner>,
}

impl Service for Verified {
    fn call(&self, call: &Call) -> ReplyFuture {
        let found = match member_of(call) {
            Some(json) => self.verify.check_member(call, &json),
            None => self.verify.check_params(call),
        };
        match found {
            Ok(None) => self.inner.call(call),
            Ok(Some(fresh)) => self.admit(call, fresh),
            Err(Failure { reason, member }) => {
                ReplyFuture::ready(self.verify.refuse(call, reason, member.as_deref(), Duration::ZERO))
            }
        }
    }
}

/// A refusal with what is known of the signature.
struct Failure {
    reason: Reason,
    member: Option<Box<Member>>,
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure { reason, member: None }
    }
}

impl Inner {
    /// Checks the member beside the params: steps 3 to 8.
    fn check_member(&self, call: &Call, json: &switchboard_core::Json) -> Result<Option<Fresh>, Failure> {
        let member = Member::of_request(json).map_err(Reason::from)?;
        let checked = self.checked(call, &member);
        let accepted = match checked {
            Ok(accepted) => accepted,
            Err(reason) => return Err(Failure { reason, member: Some(Box::new(member)) }),
        };
        let replies = self.reply_signer(call, &member, &accepted);
        Ok(Some(Fresh { name: member.kid.clone(), member, accepted: Some(accepted), replies }))
    }

    fn checked(&self, call: &Call, member: &Member) -> Result<AcceptedSignature, Reason> {
        let covered = Covered::of_call(call)?;
        let session = member.session.as_ref().map(|_| call.cx.session().id());
        let accepted =
            self.verifier.verify(member, session, |algorithm| covered.request_text(member, algorithm))?;
        self.check_scope(member, &accepted.key, call)?;
        Ok(accepted)
    }

    /// What is checked after the signature: whether nonces of that time are remembered, and what the key is good for.
    fn check_scope(&self, member: &Member, key: &Key, call: &Call) -> Result<(), Reason> {
        if member.ts.is_some_and(|ts| !self.nonces.covers(ts)) {
            return Err(Reason::Expired);
        }
        if key.allows(call.method.as_str()) { Ok(()) } else { Err(Reason::OutOfScope) }
    }

    /// Checks a call without the member: it may have a signature in its params.
    fn check_params(&self, call: &Call) -> Result<Option<Fresh>, Failure> {
        let method = call.method.as_str();
        if let Some(form) = self.forms.iter().find(|form| form.applies_to(method)) {
            return self.checked_params(call, form).map(Some);
        }
        let is_required = self.required.iter().any(|pattern| pattern.matches(method));
        if is_required { Err(Reason::Missing.into()) } else { Ok(None) }
    }

    fn checked_params(&self, call: &Call, form: &ParamsForm) -> Result<Fresh, Failure> {
        let aud = self.verifier.audiences.first().map_or("", String::as_str);
        let found = form.read(call, aud)?;
        let member = found.member;
        let checked = match &found.covered {
            Some(covered) => {
                let text = |algorithm| covered.params_text(&member, algorithm);
                let verified = self.verifier.verify(&member, None, text);
                verified.and_then(|accepted| {
                    self.check_scope(&member, &accepted.key, call).map(|()| Some(accepted))
                })
            }
            None => {
                let ts = member.ts.unwrap_or(0);
                let in_time = self.verifier.window.check(ts, None, self.verifier.clock.seconds());
                in_time.map(|()| None)
            }
        };
        match checked {
            Ok(accepted) => {
                let name = if accepted.is_some() { member.kid.clone() } else { caller_name(call) };
                Ok(Fresh { name, member, accepted, replies: None })
            }
            Err(reason) => Err(Failure { reason, member: Some(Box::new(member)) }),
        }
    }

    fn reply_signer(
        &self,
        call: &Call,
        member: &Member,
        accepted: &AcceptedSignature,
    ) -> Option<ReplySigner> {
        let key = match &self.reply_key {
            Some(key) => key,
            None => &accepted.key,
        };
        let id = call.id().filter(|_| self.signs_replies && key.can_sign())?;
        Some(ReplySigner {
            key: Arc::clone(key),
            clock: self.verifier.clock.clone(),
            version: call.cx.version,
            id: id.as_str().to_owned(),
            kid: member.kid.clone(),
            nonce: member.nonce.clone(),
            request: accepted.text.digest(),
        })
    }

    fn refuse(&self, call: &Call, reason: Reason, member: Option<&Member>, wait: Duration) -> Reply {
        // Until the signature is verified, anyone can name any key.
        let signer = member.filter(|_| reason.is_after_signature());
        let key = signer.and_then(|member| self.verifier.keys.get(&member.kid));
        let who = key.as_ref().map(|key| key.identity().subject.as_str());
        Refused { reason, call, member, now: self.verifier.clock.seconds(), wait, who, audit: &self.audit }
            .reply()
    }

    fn refuse_store(&self, call: &Call, member: &Member, error: &StoreError) -> Reply {
        let (reason, wait) = match error {
            StoreError::Full { wait } => (Reason::StoreFull, *wait),
            error => {
                tracing::error!(target: "switchboard::signing", %error, "cannot remember a nonce");
                (Reason::StoreDown, Duration::from_secs(1))
            }
        };
        self.refuse(call, reason, Some(member), wait)
    }
}

impl Verified {
    /// Lets a call run if its nonce is new: step 9. The nonce stays used, whatever becomes of the call.
    fn admit(&self, call: &Call, fresh: Fresh) -> ReplyFuture {
        let verify = &self.verify;
        let Some(ts) = fresh.member.ts.filter(|_| !fresh.member.nonce.is_empty()) else {
            return run(&self.inner, call, fresh);
        };
        let (now, until) = (verify.verifier.clock.seconds(), verify.verifier.window.remembered_until(ts));
        let is_shared = verify.verifier.keys.len() > 1;
        if is_shared && let Err(wait) = verify.nonces.check_share(&fresh.name, now) {
            let full = StoreError::Full { wait };
            return ReplyFuture::ready(verify.refuse_store(call, &fresh.member, &full));
        }
        let inserted = verify.nonces.insert(&fresh.name, &fresh.member.nonce, until, now);
        match inserted.into_ready() {
            Ok(inserted) => conclude(verify, &self.inner, call, fresh, inserted, until),
            Err(inserted) => {
                let (verify, inner, call) = (Arc::clone(verify), Arc::clone(&self.inner), call.clone());
                ReplyFuture::pending(async move {
                    let inserted = inserted.await;
                    conclude(&verify, &inner, &call, fresh, inserted, until).await
                })
            }
        }
    }
}

fn conclude(
    verify: &Inner,
    inner: &Arc<dyn Service>,
    call: &Call,
    fresh: Fresh,
    inserted: Result<bool, StoreError>,
    until: u64,
) -> ReplyFuture {
    match inserted {
        Ok(true) => {
            if fresh.accepted.is_some() {
                verify.nonces.count(&fresh.name, until);
            }
            run(inner, call, fresh)
        }
        Ok(false) => {
            ReplyFuture::ready(verify.refuse(call, Reason::Replay, Some(&fresh.member), Duration::ZERO))
        }
        Err(error) => ReplyFuture::ready(verify.refuse_store(call, &fresh.member, &error)),
    }
}

/// Passes a call on with the identity of its key, and signs the reply.
fn run(inner: &Arc<dyn Service>, call: &Call, fresh: Fresh) -> ReplyFuture {
    let Some(accepted) = fresh.accepted else { return inner.call(call) };
    let mut call = call.clone();
    call.cx.insert(Attached(Arc::clone(accepted.key.identity())));
    let reply = inner.call(&call);
    match fresh.replies {
        Some(signer) => reply.map(move |reply| signer.sign(reply)),
        None => reply,
    }
}

/// Under which name nonces without a signature are remembered: the caller's, else its address.
fn caller_name(call: &Call) -> String {
    match (Identity::from_context(&call.cx), call.cx.origin().address) {
        (Some(identity), _) => format!("subject {}", identity.subject),
        (None, Some(address)) => format!("address {}", address.ip()),
        (None, None) => "address".to_owned(),
    }
}
