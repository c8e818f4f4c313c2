//! A fixed number of buckets.
//!
//! Buckets are found by a secret hash, in sets of eight. A new one takes the place of the fullest of its set, which loses the least by it. So
//! the memory is bounded, and a flood of new callers cannot push out one that is at its limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::gcra::Gcra;
use super::shared::Which;
use crate::hashing::{SecretHashing, secret_hashing};

/// How many buckets are searched together.
const WAYS: usize = 8;

/// A bucket: the hash of whose it is, and when it is full again.
#[derive(Clone, Copy, Default)]
struct Bucket {
    key: u64,
    full_at: u64,
}

type Set = Mutex<[Bucket; WAYS]>;

pub(super) struct Buckets {
    start: Instant,
    hashing: SecretHashing,
    /// A power of two of them.
    sets: Box<[Set]>,
    /// The state of each rule whose limit all callers share.
    shared: Box<[AtomicU64]>,
}

impl Buckets {
    /// At least so many buckets, for so many rules.
    pub(super) fn new(count: usize, rules: usize) -> Buckets {
        let sets = count.div_ceil(WAYS).max(1).next_power_of_two();
        Buckets {
            start: Instant::now(),
            hashing: secret_hashing(),
            sets: (0..sets).map(|_| Set::default()).collect(),
            shared: (0..rules).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// How many buckets there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.sets.len() * WAYS
    }

    /// Nanoseconds since the start.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        // They are enough for 584 years.
        self.start.elapsed().as_nanos() as u64
    }

    pub(super) fn hashing(&self) -> &SecretHashing {
        &self.hashing
    }

    /// Takes a call from the bucket of a rule. Returns how long it has to wait, if it has.
    #[inline]
    pub(super) fn charge(
        &self,
        rule: usize,
        key: Option<u64>,
        gcra: Gcra,
        now: u64,
        cost: u64,
    ) -> Option<Duration> {
        let charged = match key {
            None => self.charge_shared(rule, gcra, now, cost),
            Some(key) => {
                let key = key_of(rule, key);
                let mut set = self.set(key);
                let bucket = find(&mut set, key);
                let full_at = if bucket.key == key { bucket.full_at } else { 0 };
                gcra.charge(full_at, now, cost).map(|full_at| *bucket = Bucket { key, full_at })
            }
        };
        charged.err().map(Duration::from_nanos)
    }

    #[inline(never)]
    fn charge_shared(&self, rule: usize, gcra: Gcra, now: u64, cost: u64) -> Result<(), u64> {
        let charge = |full_at| gcra.charge(full_at, now, cost).ok();
        self.shared[rule]
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge)
            .map_err(|full_at| gcra.charge(full_at, now, cost).err().unwrap_or(1))
            .map(drop)
    }

    /// How long a call would have to wait, if it had. Takes nothing.
    pub(super) fn wait(
        &self,
        rule: usize,
        key: Option<u64>,
        gcra: Gcra,
        now: u64,
        cost: u64,
    ) -> Option<Duration> {
        gcra.charge(self.full_at(rule, key), now, cost).err().map(Duration::from_nanos)
    }

    /// How many calls would pass now. Takes nothing.
    pub(super) fn left(&self, rule: usize, key: Option<u64>, gcra: Gcra, now: u64) -> u64 {
        gcra.left(self.full_at(rule, key), now)
    }

    /// Whether nothing is missing from a bucket.
    pub(super) fn is_full(&self, (rule, key): Which) -> bool {
        self.full_at(rule, key) <= self.now()
    }

    /// A bucket is not full before this time, because others took from it.
    pub(super) fn raise(&self, (rule, key): Which, full_at: u64) {
        match key {
            None => drop(self.shared[rule].fetch_max(full_at, Ordering::Relaxed)),
            Some(key) => {
                let key = key_of(rule, key);
                let mut set = self.set(key);
                let bucket = find(&mut set, key);
                let before = if bucket.key == key { bucket.full_at } else { 0 };
                *bucket = Bucket { key, full_at: before.max(full_at) };
            }
        }
    }

    /// When a bucket is full again.
    fn full_at(&self, rule: usize, key: Option<u64>) -> u64 {
        match key {
            None => self.shared[rule].load(Ordering::Relaxed),
            Some(key) => {
                let key = key_of(rule, key);
                let mut set = self.set(key);
                let bucket = find(&mut set, key);
                if bucket.key == key { bucket.full_at } else { 0 }
            }
        }
    }

    /// Puts a call back.
    pub(super) fn refund(&self, rule: usize, key: Option<u64>, cost: u64) {
        match key {
            None => {
                let refund = |full_at: u64| Some(full_at.saturating_sub(cost));
                let _ = self.shared[rule].fetch_update(Ordering::Relaxed, Ordering::Relaxed, refund);
            }
            Some(key) => {
                let key = key_of(rule, key);
                let mut set = self.set(key);
                let bucket = find(&mut set, key);
                if bucket.key == key {
                    bucket.full_at = bucket.full_at.saturating_sub(cost);
                }
            }
        }
    }

    fn set(&self, key: u64) -> MutexGuard<'_, [Bucket; WAYS]> {
        let index = (key >> 32) as usize & (self.sets.len() - 1);
        self.sets[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same caller has another bucket for each rule.
fn key_of(rule: usize, key: u64) -> u64 {
    (key ^ (rule as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The bucket with this key, or else the one to replace.
fn find(set: &mut [Bucket; WAYS], key: u64) -> &mut Bucket {
    let mut found = 0;
    for (index, bucket) in set.iter().enumerate() {
        if bucket.key == key {
            found = index;
            break;
        }
        if bucket.full_at < set[found].full_at {
            found = index;
        }
    }
    &mut set[found]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;

    #[test]
    fn many_callers_do_not_help_one_that_is_at_its_limit() {
        let buckets = Buckets::new(64, 1);
        let gcra = Gcra::new(Rate::new(10, 3600).unwrap(), None);
        let (one, cost) = (Some(1), gcra.cost(1));
        for _ in 0..10 {
            assert_eq!(buckets.charge(0, one, gcra, 1, cost), None);
        }
        // An attacker with a million addresses: the memory stays the same, and the limit stays in place.
        for other in 2..1_000_000 {
            assert_eq!(buckets.charge(0, Some(other), gcra, 2, cost), None);
        }
        assert_eq!(buckets.len(), 64);
        assert!(buckets.charge(0, one, gcra, 3, cost).is_some());
    }

    #[test]
    fn rules_do_not_share_buckets() {
        let buckets = Buckets::new(8, 2);
        let gcra = Gcra::new(Rate::new(1, 60).unwrap(), None);
        for key in [None, Some(7)] {
            for rule in [0, 1] {
                assert_eq!(buckets.charge(rule, key, gcra, 1, gcra.cost(1)), None);
                assert!(buckets.wait(rule, key, gcra, 1, gcra.cost(1)).is_some());
                assert!(buckets.charge(rule, key, gcra, 1, gcra.cost(1)).is_some());
            }
            buckets.refund(0, key, gcra.cost(1));
            assert_eq!(buckets.wait(0, key, gcra, 1, gcra.cost(1)), None);
            assert!(buckets.wait(1, key, gcra, 1, gcra.cost(1)).is_some());
        }
    }
}
