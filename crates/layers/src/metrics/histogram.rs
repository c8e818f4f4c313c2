//! How long calls took, counted in buckets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper limits of the buckets within one decade, in tenths of its start. They contain the limits that OpenTelemetry recommends (OBS-R-07).
const STEPS: [u64; 10] = [10, 15, 20, 25, 30, 40, 50, 60, 75, 90];
/// Decades, from one microsecond to a hundred seconds.
const DECADES: usize = 8;
/// Buckets, the last one for everything that took longer.
pub(super) const BUCKETS: usize = STEPS.len() * DECADES + 1;

/// The limit of each bucket but the last, in nanoseconds.
const LIMITS: [u64; BUCKETS - 1] = limits();
/// The bucket at which to begin looking, by the number of bits of a duration in nanoseconds.
const FIRST: [u8; 65] = first();

/// Counts calls by how long they took. Any number of threads can add to it, and none waits.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// One without calls.
    #[must_use]
    pub fn new() -> Histogram {
        Histogram { buckets: [const { AtomicU64::new(0) }; BUCKETS], nanoseconds: AtomicU64::new(0) }
    }

    /// Counts a call.
    pub fn add(&self, duration: Duration) {
        let nanoseconds = nanoseconds(duration);
        self.buckets[bucket(nanoseconds)].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    /// The calls so far.
    #[must_use]
    pub fn snapshot(&self) -> Durations {
        let buckets = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        Durations { buckets, sum: Duration::from_nanos(self.nanoseconds.load(Relaxed)) }
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

/// How many calls took how long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Calls by [limit](Durations::limits); the last number counts those above all limits. Empty if there were none.
    buckets: Vec<u64>,
    sum: Duration,
}

impl Durations {
    /// The upper limits of the buckets, ascending: about ten per decade from one microsecond to a hundred seconds.
    pub fn limits() -> impl ExactSizeIterator<Item = Duration> {
        LIMITS.iter().map(|limit| Duration::from_nanos(*limit))
    }

    /// Calls in each bucket: those with a duration up to its limit and above the previous one, then those above all limits.
    #[must_use]
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// How many calls there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How long they took together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// How many calls took no longer than this, which must be one of the [limits](Durations::limits).
    pub(super) fn up_to(&self, limit: Duration) -> u64 {
        let within = Durations::limits().take_while(|own| *own <= limit).count();
        self.buckets.iter().take(within).sum()
    }

    /// The duration that this share of the calls, from 0.0 to 1.0, did not exceed. `None` if there were no calls.
    ///
    /// It lies in the right bucket, so it is exact to about a fifth.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut before = 0.0;
        for (index, count) in self.buckets.iter().enumerate() {
            let count = *count as f64;
            if before + count >= wanted {
                let from = index.checked_sub(1).map_or(0, |index| LIMITS[index]) as f64;
                let to = LIMITS.get(index).map_or(from, |limit| *limit as f64);
                return Some(Duration::from_nanos((from + (to - from) * (wanted - before) / count) as u64));
            }
            before += count;
        }
        None
    }

    /// Adds the calls of another one.
    pub fn add(&mut self, other: &Durations) {
        self.buckets.resize(BUCKETS, 0);
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += other;
        }
        self.sum += other.sum;
    }

    /// The calls since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Durations) -> Durations {
        let earlier_buckets = earlier.buckets.iter().copied().chain(std::iter::repeat(0));
        let buckets = self.buckets.iter().zip(earlier_buckets).map(|(now, then)| now.saturating_sub(then));
        Durations { buckets: buckets.collect(), sum: self.sum.saturating_sub(earlier.sum) }
    }
}

/// A duration in nanoseconds, without numbers of 128 bits.
fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos().into())
}

/// The bucket of a duration.
fn bucket(nanoseconds: u64) -> usize {
    let mut index = usize::from(FIRST[(u64::BITS - nanoseconds.leading_zeros()) as usize]);
    while index < LIMITS.len() && LIMITS[index] < nanoseconds {
        index += 1;
    }
    index
}

const fn limits() -> [u64; BUCKETS - 1] {
    let mut limits = [0; BUCKETS - 1];
    let (mut at, mut decade) = (0, 1_000);
    while at < limits.len() {
        limits[at] = decade / 10 * STEPS[at % STEPS.len()];
        at += 1;
        if at % STEPS.len() == 0 {
            decade *= 10;
        }
    }
    limits
}

const fn first() -> [u8; 65] {
    let mut first = [0; 65];
    let mut bits = 1;
    while bits < first.len() {
        // The smallest number with so many bits.
        let smallest = 1_u64 << (bits - 1);
        let mut index = 0;
        while index < BUCKETS - 1 && LIMITS[index] < smallest {
            index += 1;
        }
        first[bits] = index as u8;
        bits += 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_ascend_from_a_microsecond_to_a_hundred_seconds() {
        assert!(LIMITS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((LIMITS[0], LIMITS[LIMITS.len() - 1]), (1_000, 90_000_000_000));
    }

    #[test]
    fn a_quantile_is_in_the_bucket_of_its_call() {
        let histogram = Histogram::new();
        for milliseconds in 1..=100 {
            histogram.add(Duration::from_millis(milliseconds));
        }
        let durations = histogram.snapshot();
        let check = |share, from, to| {
            let found = durations.quantile(share).unwrap();
            assert!(
                found > Duration::from_millis(from) && found <= Duration::from_millis(to),
                "{share}: {found:?}"
            );
        };
        check(0.5, 40, 50);
        check(0.9, 75, 90);
        check(0.99, 90, 100);
        check(1.0, 90, 100);
        check(0.0, 0, 1);
        assert_eq!(Histogram::new().snapshot().quantile(0.5), None);
        assert_eq!(durations.sum(), Duration::from_millis(5050));
    }

    proptest! {
        #[test]
        fn every_duration_is_in_the_first_bucket_that_admits_it(nanoseconds in any::<u64>(), shift in 0..64_u32) {
            let nanoseconds = nanoseconds >> shift;
            let expected = LIMITS.iter().position(|limit| nanoseconds <= *limit).unwrap_or(BUCKETS - 1);
            prop_assert_eq!(bucket(nanoseconds), expected);
        }

        #[test]
        fn calls_since_a_moment_are_those_added_after_it(first in prop::collection::vec(0..u64::from(u32::MAX), 0..20), second in prop::collection::vec(0..u64::from(u32::MAX), 0..20)) {
            let (all, later) = (Histogram::new(), Histogram::new());
            first.iter().for_each(|each| all.add(Duration::from_nanos(*each)));
            let earlier = all.snapshot();
            for each in &second {
                all.add(Duration::from_nanos(*each));
                later.add(Duration::from_nanos(*each));
            }
            prop_assert_eq!(all.snapshot().since(&earlier), later.snapshot());
        }
    }
}
