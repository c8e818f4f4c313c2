//! The request to shut down, for everything that a server runs.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::sync::Notify;
#[cfg(feature = "http")]
use tokio::sync::futures::Notified;

/// Whether a server was asked to shut down. Requested once, seen by every task that checks or waits.
#[derive(Debug, Default)]
pub struct Shutdown {
    is_requested: AtomicBool,
    is_handed_over: AtomicBool,
    notify: Notify,
    handing_over: Notify,
}

impl Shutdown {
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.notify.notify_waiters();
    }

    pub(crate) fn hand_over(&self) {
        self.is_handed_over.store(true, Ordering::Release);
        self.handing_over.notify_waiters();
    }

    /// Whether another process accepts the connections.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Ordering::Acquire)
    }

    /// Waits until the server is to accept no more connections, for either reason.
    pub(crate) async fn wait_or_handed_over(&self) {
        let (requested, handed_over) = (self.notify.notified(), self.handing_over.notified());
        if self.is_requested() || self.is_handed_over() {
            return;
        }
        let (mut requested, mut handed_over) = (pin!(requested), pin!(handed_over));
        poll_fn(|cx| match requested.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => handed_over.as_mut().poll(cx),
        })
        .await;
    }

    /// Whether the server was asked to shut down.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Acquire)
    }

    /// Waits until the server is asked to shut down.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub async fn wait(&self) {
        let requested = self.notify.notified();
        if !self.is_requested() {
            requested.await;
        }
    }

    /// Wakes the task that polls it when shutdown is requested. It does not report an earlier request: check
    /// [`is_requested`](Shutdown::is_requested) as well.
    #[cfg(feature = "http")]
    pub(crate) fn signal(&self) -> Notified<'_> {
        self.notify.notified()
    }
}
