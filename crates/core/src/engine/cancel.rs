//! Cancelling a running call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

/// Cancels one call. The call notices it at its next step, drops its handler and ends like any other.
#[derive(Clone, Default)]
pub(crate) struct CancelFlag(Arc<Flag>);

#[derive(Default)]
struct Flag {
    is_set: AtomicBool,
    waker: AtomicWaker,
}

impl CancelFlag {
    pub(crate) fn set(&self) {
        self.0.is_set.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Ready once the call is to be cancelled.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.waker.register(cx.waker());
        if self.0.is_set.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}
