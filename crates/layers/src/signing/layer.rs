//! The layer that verifies calls.

use std::fmt;
use std::sync::Arc;

use switchboard_core::{Call, Input, Layer, Reply, ReplyFuture, RequestHead, Service};

use super::checks::Failure;
use super::params_form::ParamsForm;
use super::refusal::Refused;
use super::replay::{Nonces, Window};
use super::verifier::Verifier;
use super::whole::Whole;
use super::{Key, SigningKeys};
use crate::Pattern;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::store::Store;

/// Verifies signed calls, and refuses replays. A signed call has the [`Identity`](crate::identity::Identity) of its key.
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
pub(super) struct Inner {
    pub(super) verifier: Verifier,
    store: Arc<dyn Store>,
    pub(super) nonces: Nonces,
    /// The methods that must be signed.
    pub(super) required: Vec<Pattern>,
    pub(super) forms: Vec<ParamsForm>,
    signs_replies: bool,
    reply_key: Option<Arc<Key>>,
    /// What clients call the server over HTTP, if a proxy changes it.
    authority: Option<String>,
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
            authority: None,
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

    /// Takes this host, and port if there is one, for the host in signed HTTP requests: a proxy replaces the one that clients write.
    #[must_use]
    pub fn with_authority(self, authority: impl Into<String>) -> Verify {
        self.changed(|inner| inner.authority = Some(authority.into()))
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

impl Service for Verified {
    fn call(&self, call: &Call) -> ReplyFuture {
        // Most calls: seen at once, without a detour.
        if self.verify.is_free(call) {
            return self.inner.call(call);
        }
        self.checked(call)
    }
}

impl Verified {
    #[inline(never)]
    fn checked(&self, call: &Call) -> ReplyFuture {
        let verify = &self.verify;
        let whole = Whole::of(&call.cx, verify);
        if let Some(whole) = &whole
            && call.is_notification()
            && call.method.as_str() == Input::BATCH_SIGNATURE
        {
            return verify.take_batch_signature(call, Arc::clone(whole));
        }
        if whole.is_none()
            && let Some(reply) = verify.answer_usual(&self.inner, call)
        {
            return reply;
        }
        match verify.check(call, whole.as_deref()) {
            Ok(None) => self.inner.call(call),
            Ok(Some(fresh)) => verify.admit(&self.inner, call, fresh, whole),
            Err(failure) => ReplyFuture::ready(verify.refuse(call, &failure)),
        }
    }
}

impl Inner {
    /// The key that signs replies to calls by this key, if they are signed.
    pub(super) fn reply_key(&self, caller: &Arc<Key>) -> Option<Arc<Key>> {
        let key = self.reply_key.as_ref().unwrap_or(caller);
        (self.signs_replies && key.can_sign()).then(|| Arc::clone(key))
    }

    /// The head of a request as its client wrote it, if a proxy changed its host.
    pub(super) fn seen_head(&self, head: &RequestHead) -> RequestHead {
        let mut head = head.clone();
        if let Some(authority) = &self.authority {
            (head.scheme, head.authority) = ("https".to_owned(), authority.clone());
        }
        head
    }

    pub(super) fn refuse(&self, call: &Call, failure: &Failure) -> Reply {
        let Failure { reason, member, wait } = failure;
        // Until the signature is verified, anyone can name any key.
        let signer = member.as_deref().filter(|_| reason.is_after_signature());
        let key = signer.and_then(|member| self.verifier.keys.get(&member.kid));
        let who = key.as_ref().map(|key| key.identity().subject.as_str());
        let (member, now) = (member.as_deref(), self.verifier.clock.seconds());
        let is_once = |form: &ParamsForm| form.is_unsigned() && form.applies_to(&call.method);
        let is_signed = !self.forms.iter().any(is_once);
        Refused { reason: *reason, call, member, now, wait: *wait, is_signed, who, audit: &self.audit }
            .reply()
    }
}
