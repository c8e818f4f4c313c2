//! The pause between attempts to connect that fail.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::CallError;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// A connection that breaks sooner than this did not work.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// Counts attempts in a row that failed.
#[derive(Debug, Default)]
pub(super) struct Starts(Mutex<Failed>);

#[derive(Debug, Default)]
struct Failed {
    count: u32,
    until: Option<Instant>,
}

impl Starts {
    /// Whether an attempt may be made now.
    pub(super) fn may_start(&self) -> Result<(), CallError> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = failed.until.map(|until| until.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            None => Ok(()),
            Some(left) => {
                let text = format!("the server failed lately; next attempt in {:.1} s", left.as_secs_f64());
                Err(CallError::Unreachable(text.into()))
            }
        }
    }

    /// An attempt failed.
    pub(super) fn failed(&self) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = (FIRST * 2_u32.saturating_pow(failed.count)).min(LONGEST);
        failed.count = (failed.count + 1).min(16);
        failed.until = Some(Instant::now() + pause.mul_f64(0.5 + fastrand::f64() / 2.0));
    }

    /// A connection works.
    pub(super) fn worked(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Failed::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_limit_and_end_with_success() {
        let starts = Starts::default();
        assert_eq!(starts.may_start(), Ok(()));
        for _ in 0..40 {
            starts.failed();
            assert!(starts.may_start().is_err());
            tokio::time::advance(LONGEST).await;
            assert_eq!(starts.may_start(), Ok(()));
        }
        starts.worked();
        starts.failed();
        tokio::time::advance(FIRST).await;
        assert_eq!(starts.may_start(), Ok(()));
    }
}
