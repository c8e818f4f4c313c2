//! What a breaker does, for operators.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::{Breaker, State};

/// What a [`Breaker`] does with calls at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerState {
    /// It lets them through.
    Closed,
    /// It lets one through, whose answer decides about the others.
    HalfOpen,
    /// It refuses them.
    Open {
        /// For how long.
        for_another: Duration,
    },
}

impl Breaker {
    /// What it does with calls now.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        let state = *self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            State::Closed => BreakerState::Closed,
            State::HalfOpen(_) => BreakerState::HalfOpen,
            State::OpenUntil(until) => match until.saturating_duration_since(Instant::now()) {
                // The next call is let through.
                Duration::ZERO => BreakerState::HalfOpen,
                for_another => BreakerState::Open { for_another },
            },
        }
    }

    /// Lets calls through again, and forgets which of them failed.
    pub fn close(&self) {
        self.0.failures.reset();
        *self.0.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Closed;
    }

    /// How many calls it has refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}
