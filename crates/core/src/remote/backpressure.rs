//! How far behind the readers of a connection's streams are.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;

use futures_util::task::AtomicWaker;

/// What the streams that are received over one connection have in common.
#[derive(Default)]
pub(crate) struct Backpressure {
    /// Wakes the driver.
    driver: AtomicWaker,
    /// How many streams have as many items waiting as may be.
    full: AtomicUsize,
}

impl Backpressure {
    pub(crate) fn register(&self, driver: &Waker) {
        self.driver.register(driver);
    }

    pub(crate) fn wake_driver(&self) {
        self.driver.wake();
    }

    /// Whether a reader is so far behind that nothing more should come for now.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.full.load(Relaxed) > 0
    }

    pub(crate) fn note_full(&self) {
        self.full.fetch_add(1, Relaxed);
    }

    /// A stream has room again, or has ended.
    pub(crate) fn note_room(&self) {
        self.full.fetch_sub(1, Relaxed);
        self.driver.wake();
    }
}
