//! A call that becomes a task when its method says so.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// How far a call is on its way to be a task.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    confirmed: Notify,
}

#[derive(Debug, Default)]
struct State {
    is_wanted: bool,
    is_confirmed: bool,
    waker: Option<Waker>,
}

impl Background {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for it, and waits until the call is a task.
    pub(super) async fn begin(&self) {
        loop {
            let mut confirmed = std::pin::pin!(self.confirmed.notified());
            confirmed.as_mut().enable();
            {
                let mut state = self.state();
                if state.is_confirmed {
                    return;
                }
                state.is_wanted = true;
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            }
            confirmed.await;
        }
    }

    pub(super) fn is_wanted(&self, waker: &Waker) -> bool {
        let mut state = self.state();
        state.waker = Some(waker.clone());
        state.is_wanted && !state.is_confirmed
    }

    pub(super) fn confirm(&self) {
        self.state().is_confirmed = true;
        self.confirmed.notify_waiters();
    }
}
