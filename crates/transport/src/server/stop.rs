//! The signal to stop, for everything that a server runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Given once, seen by all who look and all who wait.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_given: AtomicBool,
    notify: Notify,
}

impl Stop {
    pub(crate) fn give(&self) {
        self.is_given.store(true, Ordering::Release);
        self.notify.notify_waiters();
    }

    pub(crate) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Acquire)
    }

    /// Waits for the signal.
    pub(crate) async fn wait(&self) {
        let given = self.notify.notified();
        if !self.is_given() {
            given.await;
        }
    }

    /// Wakes whoever polls it when the signal is given; whether it was given before is to be asked apart.
    pub(crate) fn signal(&self) -> Notified<'_> {
        self.notify.notified()
    }
}
