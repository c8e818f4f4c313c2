//! The share of calls that failed lately.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Counts calls and failures of the last one to two periods.
#[derive(Debug)]
pub(crate) struct Ratio {
    period: Duration,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    since: Instant,
    now: Count,
    before: Count,
}

/// Calls, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
}

impl Count {
    /// Whether this share of enough calls has failed.
    pub(crate) fn is_above(self, share: f64, least: u64) -> bool {
        // Counts are far below 2^52.
        #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds are small")]
        let is_above = self.failures as f64 >= share * self.calls as f64;
        self.calls >= least && self.failures > 0 && is_above
    }
}

impl Ratio {
    pub(crate) fn new(period: Duration) -> Ratio {
        let counts = Counts { since: Instant::now(), now: Count::default(), before: Count::default() };
        Ratio { period, counts: Mutex::new(counts) }
    }

    /// Counts a call that ended at this moment; returns all that count.
    pub(crate) fn count(&self, has_failed: bool, at: Instant) -> Count {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let age = at.saturating_duration_since(counts.since);
        if age >= self.period {
            let old = std::mem::take(&mut counts.now);
            counts.before = if age < self.period * 2 { old } else { Count::default() };
            counts.since = at;
        }
        counts.now.calls += 1;
        counts.now.failures += u64::from(has_failed);
        let (now, before) = (counts.now, counts.before);
        Count { calls: now.calls + before.calls, failures: now.failures + before.failures }
    }

    /// Forgets everything.
    pub(crate) fn reset(&self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts = Counts { since: Instant::now(), now: Count::default(), before: Count::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_counts_only_of_enough_calls() {
        let count = |calls, failures| Count { calls, failures };
        assert!(count(10, 5).is_above(0.5, 10));
        assert!(!count(10, 4).is_above(0.5, 10));
        assert!(!count(9, 9).is_above(0.5, 10));
        assert!(!count(10, 0).is_above(0.0, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn old_calls_are_forgotten() {
        let period = Duration::from_secs(5);
        let ratio = Ratio::new(period);
        ratio.count(true, Instant::now());
        tokio::time::advance(period).await;
        assert_eq!(ratio.count(false, Instant::now()), Count { calls: 2, failures: 1 });
        tokio::time::advance(period).await;
        assert_eq!(ratio.count(false, Instant::now()), Count { calls: 2, failures: 0 });
        tokio::time::advance(period * 2).await;
        assert_eq!(ratio.count(true, Instant::now()), Count { calls: 1, failures: 1 });
    }
}
