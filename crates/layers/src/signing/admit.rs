//! Lets calls run whose nonces are new: step 9 of a verification.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Json, Reply, ReplyFuture, Service};

use super::checks::{Failure, Fresh, Nonce};
use super::layer::Inner;
use super::verifier::Reason;
use super::whole::Whole;
use crate::identity::identify;
use crate::store::StoreError;

impl Inner {
    /// Lets a call run if its nonces are new. They stay used, whatever becomes of the call.
    pub(super) fn admit(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
        fresh: Fresh,
        whole: Option<Arc<Whole>>,
    ) -> ReplyFuture {
        if whole.is_none() && fresh.nonces.len() == 1 {
            return self.admit_one(inner, call, fresh);
        }
        let (verify, inner, call) = (Arc::clone(self), Arc::clone(inner), call.clone());
        ReplyFuture::pending(async move {
            match verify.claim_all(whole.as_deref(), &fresh.nonces).await {
                Ok(()) => run(&inner, &call, fresh).await,
                Err(failure) => verify.refuse(&call, &failure),
            }
        })
    }

    /// The usual case, done at once if the store is.
    fn admit_one(self: &Arc<Inner>, inner: &Arc<dyn Service>, call: &Call, fresh: Fresh) -> ReplyFuture {
        let nonce = &fresh.nonces[0];
        let insertion = match self.insertion(nonce) {
            Ok(Some(insertion)) => insertion,
            Ok(None) => return run(inner, call, fresh),
            Err(failure) => return ReplyFuture::ready(self.refuse(call, &failure)),
        };
        match insertion.future.into_ready() {
            Ok(inserted) => match self.conclude(nonce, inserted, insertion.until) {
                Ok(()) => run(inner, call, fresh),
                Err(failure) => ReplyFuture::ready(self.refuse(call, &failure)),
            },
            Err(pending) => {
                let (verify, inner, call) = (Arc::clone(self), Arc::clone(inner), call.clone());
                ReplyFuture::pending(async move {
                    let inserted = pending.await;
                    match verify.conclude(&fresh.nonces[0], inserted, insertion.until) {
                        Ok(()) => run(&inner, &call, fresh).await,
                        Err(failure) => verify.refuse(&call, &failure),
                    }
                })
            }
        }
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
        let Some(insertion) = self.insertion(nonce)? else { return Ok(()) };
        let inserted = insertion.future.await;
        self.conclude(nonce, inserted, insertion.until)
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

    /// Begins to insert a nonce. None if the call has none to insert.
    fn insertion(&self, nonce: &Nonce) -> Result<Option<Insertion>, Failure> {
        let Some(ts) = nonce.member.ts.filter(|_| !nonce.member.nonce.is_empty()) else { return Ok(None) };
        // What was checked a moment ago is remembered a moment longer.
        let (now, until) = (nonce.now, self.verifier.window.remembered_until(ts));
        let is_shared = self.verifier.keys.len() > 1;
        if is_shared && let Err(wait) = self.nonces.check_share(nonce.name(), now) {
            return Err(self.store_failure(nonce, &StoreError::Full { wait }));
        }
        let future = self.nonces.insert(nonce.name(), &nonce.member.nonce, until, now);
        Ok(Some(Insertion { future, until }))
    }

    fn conclude(&self, nonce: &Nonce, inserted: Result<bool, StoreError>, until: u64) -> Result<(), Failure> {
        match inserted {
            Ok(true) => {
                if nonce.is_of_key() {
                    self.nonces.count(nonce.name(), until);
                }
                Ok(())
            }
            Ok(false) => Err(failure(nonce, Reason::Replay, Duration::ZERO)),
            Err(error) => Err(self.store_failure(nonce, &error)),
        }
    }

    fn store_failure(&self, nonce: &Nonce, error: &StoreError) -> Failure {
        let (reason, wait) = match error {
            StoreError::Full { wait } => (Reason::StoreFull, *wait),
            error => {
                tracing::error!(target: "switchboard::signing", %error, "cannot remember a nonce");
                (Reason::StoreDown, Duration::from_secs(1))
            }
        };
        failure(nonce, reason, wait)
    }
}

/// A nonce that is being inserted.
struct Insertion {
    future: crate::store::StoreFuture<bool>,
    /// How long it is remembered.
    until: u64,
}

fn failure(nonce: &Nonce, reason: Reason, wait: Duration) -> Failure {
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
