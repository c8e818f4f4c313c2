//! The requests and connections of a mounted endpoint that are in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire};

use tokio::sync::Notify;

/// Counts the requests and connections in flight.
#[derive(Debug, Default)]
pub(super) struct InFlightCount {
    count: AtomicUsize,
    none: Notify,
}

/// One request or connection in flight. Dropping it ends it.
#[derive(Debug)]
pub(super) struct InFlight(Arc<InFlightCount>);

impl InFlightCount {
    pub(super) fn begin(self: &Arc<InFlightCount>) -> InFlight {
        self.count.fetch_add(1, AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Waits until nothing is in flight.
    pub(super) async fn wait_for_none(&self) {
        loop {
            let none = self.none.notified();
            if self.count.load(Acquire) == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Clone for InFlight {
    fn clone(&self) -> InFlight {
        self.0.begin()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
