//! The request to shut down, for everything that a server runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
#[cfg(feature = "http")]
use tokio::sync::futures::Notified;

/// Whether a server was asked to shut down. Requested once, seen by every task that checks or waits.
#[derive(Debug, Default)]
pub struct Shutdown {
    is_requested: AtomicBool,
    notify: Notify,
}

impl Shutdown {
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.notify.notify_waiters();
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
