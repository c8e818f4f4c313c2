//! How many connections are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts the open connections of a [`Link`](crate::Link). Cheap to clone; clones count the same ones.
#[derive(Clone, Debug, Default)]
pub struct OpenConnections(Arc<AtomicUsize>);

impl OpenConnections {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn open(&self) -> Open {
        self.0.fetch_add(1, Ordering::Relaxed);
        Open { all: self.clone(), is_open: AtomicBool::new(true) }
    }
}

/// One that is open until it is closed or dropped.
#[derive(Debug)]
pub(super) struct Open {
    all: OpenConnections,
    is_open: AtomicBool,
}

impl Open {
    pub(super) fn close(&self) {
        if self.is_open.swap(false, Ordering::Relaxed) {
            self.all.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close();
    }
}
