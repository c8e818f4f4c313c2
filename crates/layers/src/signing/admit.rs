//! Lets calls run whose nonces are new: step 9 of a verification.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Json, Reply, ReplyFuture, Service};

use super::checks::{Failure, Fresh, Nonce};
use super::layer::Inner;
use super::member::Claim;
use super::verifier::{AcceptedSignature, Reason};
use super::whole::Whole;
use crate::identity::identify;
use crate::store::StoreError;

impl Inner {
    /// Lets a call run that is signed as usual, if its nonce is new.
    pub(super) fn admit_usual(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
        accepted: &AcceptedSignature,
        claim: &Claim<'_>,
        now: u64,
    ) -> ReplyFuture {
        let insertion = match self.insertion(claim.kid, claim, now) {
            Ok(Some(insertion)) => insertion,
            Ok(None) => return run(inner, call, self.usual(call, accepted, claim)),
            Err(refusal) => return self.refuse_usual(call, claim, refusal),
        };
        match insertion.future.into_ready() {
            Ok(inserted) => match self.conclude(Some(claim.kid), inserted, insertion.until) {
                Ok(()) => run(inner, call, self.usual(call, accepted, claim)),
                Err(refusal) => self.refuse_usual(call, claim, refusal),
            },
            Err(future) => {
                let nonce = Nonce::of_key(claim.to_member(), now);
                let insertion = Insertion { future, ..insertion };
                self.admit_later(inner, call, nonce, insertion, self.usual(call, accepted, claim))
            }
        }
    }

    fn usual(&self, call: &Call, accepted: &AcceptedSignature, claim: &Claim<'_>) -> Fresh {
        let identity = Some(Arc::clone(accepted.key.identity()));
        Fresh { nonces: Vec::new(), identity, replies: self.signer_for(call, accepted, claim) }
    }

    #[cold]
    fn refuse_usual(&self, call: &Call, claim: &Claim<'_>, (reason, wait): Refusal) -> ReplyFuture {
        let member = Some(Box::new(claim.to_member()));
        ReplyFuture::ready(self.refuse(call, &Failure { reason, member, wait }))
    }

    /// Lets a call run if its nonces are new. They stay used, whatever becomes of the call.
    pub(super) fn admit(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
        mut fresh: Fresh,
        whole: Option<Arc<Whole>>,
    ) -> ReplyFuture {
        if whole.is_none() && fresh.nonces.len() == 1 {
            let nonce = fresh.nonces.remove(0);
            return self.admit_one(inner, call, nonce, fresh);
        }
        let (verify, inner, call) = (Arc::clone(self), Arc::clone(inner), call.clone());
        ReplyFuture::pending(async move {
            match verify.claim_all(whole.as_deref(), &fresh.nonces).await {
                Ok(()) => run(&inner, &call, fresh).await,
                Err(failure) => verify.refuse(&call, &failure),
            }
        })
    }

    /// Done at once if the store is.
    fn admit_one(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
        nonce: Nonce,
        fresh: Fresh,
    ) -> ReplyFuture {
        let refuse = |refusal| ReplyFuture::ready(self.refuse(call, &failure(&nonce, refusal)));
        let insertion = match self.insertion(nonce.name(), &nonce.member.claim(), nonce.now) {
            Ok(Some(insertion)) => insertion,
            Ok(None) => return run(inner, call, fresh),
            Err(refusal) => return refuse(refusal),
        };
        match insertion.future.into_ready() {
            Ok(inserted) => match self.conclude(nonce.key(), inserted, insertion.until) {
                Ok(()) => run(inner, call, fresh),
                Err(refusal) => refuse(refusal),
            },
            Err(future) => self.admit_later(inner, call, nonce, Insertion { future, ..insertion }, fresh),
        }
    }

    fn admit_later(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
        nonce: Nonce,
        insertion: Insertion,
        fresh: Fresh,
    ) -> ReplyFuture {
        let (verify, inner, call) = (Arc::clone(self), Arc::clone(inner), call.clone());
        ReplyFuture::pending(async move {
            let inserted = insertion.future.await;
            match verify.conclude(nonce.key(), inserted, insertion.until) {
                Ok(()) => run(&inner, &call, fresh).await,
                Err(refusal) => verify.refuse(&call, &failure(&nonce, refusal)),
            }
        })
    }

    /// Inserts the nonces of the message, once for all its calls, and then those of the call.
    async fn claim_all(&self, whole: Option<&Whole>, nonces: &[Nonce]) -> Result<(), Failure> {
        if let Some(whole) = whole {
            self.claim_whole(whole).await?;
        }
        for nonce in nonces {
            self.claim(nonce).await?;
        }
        Ok(())
    }

    async fn claim_whole(&self, whole: &Whole) -> Result<(), Failure> {
        let claim = async {
            let (http, batch) = whole.signatures()?;
            for signature in http.into_iter().chain(batch) {
                self.claim(&signature.clone().into()).await?;
            }
            Ok(())
        };
        whole.claimed.get_or_init(|| claim).await.clone()
    }

    async fn claim(&self, nonce: &Nonce) -> Result<(), Failure> {
        let fail = |refusal| failure(nonce, refusal);
        let begun = self.insertion(nonce.name(), &nonce.member.claim(), nonce.now).map_err(fail)?;
        let Some(insertion) = begun else { return Ok(()) };
        let inserted = insertion.future.await;
        self.conclude(nonce.key(), inserted, insertion.until).map_err(fail)
    }

    /// Answers the first entry of a batch, which signs it.
    pub(super) fn take_batch_signature(self: &Arc<Inner>, call: &Call, whole: Arc<Whole>) -> ReplyFuture {
        let (verify, call) = (Arc::clone(self), call.clone());
        ReplyFuture::pending(async move {
            match verify.claim_whole(&whole).await {
                Ok(()) => Reply::value(Json::NULL),
                Err(failure) => verify.refuse(&call, &failure),
            }
        })
    }

    /// Begins to insert a nonce that was checked at this time, under this name. None if there is none to insert.
    fn insertion(&self, name: &[u8], claim: &Claim<'_>, now: u64) -> Result<Option<Insertion>, Refusal> {
        let Some(ts) = claim.ts.filter(|_| !claim.nonce.is_empty()) else { return Ok(None) };
        // What was checked a moment ago is remembered a moment longer.
        let until = self.verifier.window.remembered_until(ts);
        let is_shared = self.verifier.keys.len() > 1;
        if is_shared && let Err(wait) = self.nonces.check_share(name, now) {
            return Err(store_failure(&StoreError::Full { wait }));
        }
        let future = self.nonces.insert(name, claim.nonce, until, now);
        Ok(Some(Insertion { future, until }))
    }

    /// Decides by what the store says. A nonce of a key counts for its share of the store.
    fn conclude(
        &self,
        key: Option<&[u8]>,
        inserted: Result<bool, StoreError>,
        until: u64,
    ) -> Result<(), Refusal> {
        match inserted {
            Ok(true) => {
                if let Some(key) = key {
                    self.nonces.count(key, until);
                }
                Ok(())
            }
            Ok(false) => Err((Reason::Replay, Duration::ZERO)),
            Err(error) => Err(store_failure(&error)),
        }
    }
}

/// Why a nonce is not taken, and how long to wait.
type Refusal = (Reason, Duration);

#[cold]
fn store_failure(error: &StoreError) -> Refusal {
    match error {
        StoreError::Full { wait } => (Reason::StoreFull, *wait),
        error => {
            tracing::error!(target: "switchboard::signing", %error, "cannot remember a nonce");
            (Reason::StoreDown, Duration::from_secs(1))
        }
    }
}

/// A nonce that is being inserted.
struct Insertion {
    future: crate::store::StoreFuture<bool>,
    /// How long it is remembered.
    until: u64,
}

fn failure(nonce: &Nonce, (reason, wait): Refusal) -> Failure {
    Failure { reason, member: Some(Box::new(nonce.member.clone())), wait }
}

/// Passes a call on with the identity of its key, and signs the reply.
fn run(inner: &Arc<dyn Service>, call: &Call, fresh: Fresh) -> ReplyFuture {
    let Some(identity) = fresh.identity else { return inner.call(call) };
    let reply = identify(inner, call, identity);
    match fresh.replies {
        Some(signer) => reply.map(move |reply| signer.sign(reply)),
        None => reply,
    }
}
