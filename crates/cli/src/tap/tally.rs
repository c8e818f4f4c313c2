//! What is counted for the summary.

use hdrhistogram::Histogram;

use crate::bench::figures::{count, time};
use crate::recording::Entry;

/// Calls so far.
#[derive(Default)]
pub(crate) struct Tally {
    calls: u64,
    failed: u64,
    notifications: u64,
    refused: u64,
    /// How long calls took, in microseconds.
    times: Option<Histogram<u64>>,
}

impl Tally {
    /// Counts a call that has ended.
    pub(crate) fn add(&mut self, entry: &Entry) {
        if entry.notification {
            self.notifications += 1;
            return;
        }
        self.calls += 1;
        self.failed += u64::from(entry.has_failed());
        // Three digits are enough, and its memory stays small.
        let times = match &mut self.times {
            Some(times) => times,
            none => match Histogram::new(3) {
                Ok(times) => none.insert(times),
                Err(_) => return,
            },
        };
        times.saturating_record((entry.ms * 1000.0) as u64);
    }

    /// Counts a message that was refused.
    pub(crate) fn refuse(&mut self) {
        self.refused += 1;
    }

    /// All of it on one line.
    pub(crate) fn summary(&self) -> String {
        let many =
            |number: u64, one: &str| format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" });
        let mut text = format!("{}, {} failed", many(self.calls, "call"), count(self.failed));
        if self.notifications > 0 {
            text.push_str(&format!(", {}", many(self.notifications, "notification")));
        }
        if self.refused > 0 {
            text.push_str(&format!(", {} refused", many(self.refused, "invalid message")));
        }
        if let Some(times) = &self.times {
            let at = |quantile: f64| time(times.value_at_quantile(quantile) as f64 * 1000.0);
            text.push_str(&format!("; median {}, 99th percentile {}", at(0.5), at(0.99)));
        }
        text + "\n"
    }
}
