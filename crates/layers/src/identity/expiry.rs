//! What ends when a credential expires or is revoked: calls are refused, streams end, and a connection is closed, so that nothing is pushed over it
//! any more (SEC-T-06).

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context as Task, Poll};
use std::time::{Duration, SystemTime};

use switchboard_core::{CloseReason, ErrorObject, Items, Json, ReplyFuture, Session};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep, timeout};

use super::credential::OwnedCredential;
use super::file::LOOK_AGAIN;
use super::refusal::refusal;
use super::{Authentication, Identity};

/// The code of a WebSocket close frame that is registered as `Unauthorized`.
const UNAUTHORIZED: u16 = 3000;

/// Closes the session when this credential of its caller expires or is revoked. A newer credential takes its place.
pub(super) fn close_at_end(session: &Session, identity: &Identity, revocation: Option<Revocation>) {
    // A session that is not exclusive carries the calls of other callers, too.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if !session.is_exclusive() {
        return;
    }
    let left = identity.expires.map(|expires| expires.duration_since(SystemTime::now()).unwrap_or_default());
    let closing = (left.is_some() || revocation.is_some()).then(|| {
        let session = session.clone();
        runtime
            .spawn(async move {
                let why = match timeout(left.unwrap_or(Duration::MAX), revoked(revocation)).await {
                    Ok(()) => "the credential is no longer accepted",
                    Err(_) => "the credential has expired; connect or log in with a new one",
                };
                session.close(CloseReason::new(why).with_code(UNAUTHORIZED));
            })
            .abort_handle()
    });
    match session.get::<Closing>() {
        Some(slot) => slot.replace(closing),
        None if closing.is_none() => {}
        None => {
            let slot = session.get_or_insert_with(Closing::default);
            slot.replace(closing);
            session.on_end(move |_| slot.replace(None));
        }
    }
}

/// Waits until a credential is no longer accepted.
async fn revoked(revocation: Option<Revocation>) {
    let Some(revocation) = revocation else { return std::future::pending().await };
    while revocation.is_accepted() {
        sleep(LOOK_AGAIN).await;
    }
}

/// A credential that its file may no longer have some day.
pub(super) struct Revocation {
    pub(super) authentication: Authentication,
    pub(super) credential: OwnedCredential,
}

impl Revocation {
    fn is_accepted(&self) -> bool {
        self.authentication.accepts(&self.credential.borrowed())
    }
}

/// The task that closes a session, of which there is one at most.
#[derive(Default)]
struct Closing(Mutex<Option<AbortHandle>>);

impl Closing {
    fn replace(&self, closing: Option<AbortHandle>) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), closing);
        if let Some(before) = before {
            before.abort();
        }
    }
}

/// Runs a call until its credential expires: calls are refused after that, and streams end.
pub(super) fn until(expires: SystemTime, run: impl FnOnce() -> ReplyFuture) -> ReplyFuture {
    let Ok(left) = expires.duration_since(SystemTime::now()) else {
        return ReplyFuture::ready(refusal());
    };
    run().map(move |reply| {
        reply.map_items(|items| {
            items.through(|items| UntilExpiry { items: Some(items), expiry: Box::pin(sleep(left)) })
        })
    })
}

/// The items of a stream until the credential of its caller expires.
struct UntilExpiry {
    items: Option<Items>,
    expiry: Pin<Box<Sleep>>,
}

impl futures_core::Stream for UntilExpiry {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(items) = &mut this.items else { return Poll::Ready(None) };
        if this.expiry.as_mut().poll(cx).is_ready() {
            this.items = None;
            return Poll::Ready(Some(Err(ErrorObject::unauthorized())));
        }
        Pin::new(items).poll_next(cx)
    }
}
