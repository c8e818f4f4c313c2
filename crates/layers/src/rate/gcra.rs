//! The arithmetic of a limit: the generic cell rate algorithm.
//!
//! The state of a bucket is one time: when it is full again if nothing more is taken. Taking a call moves that time into the future. There
//! is no room if it would be further away than it takes to fill an empty bucket.

use super::Rate;

/// A limit. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gcra {
    /// How long it takes to regain one call.
    per_call: u64,
    /// How long it takes to regain the whole burst.
    capacity: u64,
}

impl Gcra {
    pub(super) fn new(rate: Rate, burst: Option<u32>) -> Gcra {
        let period = u64::try_from(rate.period().as_nanos()).unwrap_or(u64::MAX);
        // Rounded up, so that no more pass than allowed.
        let per_call = period.div_ceil(rate.count().into());
        let burst = burst.unwrap_or(rate.count()).max(1);
        Gcra { per_call, capacity: per_call.saturating_mul(burst.into()) }
    }

    /// What a call of this weight takes. It is never more than the burst, or it could never pass.
    pub(super) fn cost(self, weight: u32) -> u64 {
        self.per_call.saturating_mul(weight.into()).min(self.capacity)
    }

    /// How many calls pass at once.
    pub(super) fn burst(self) -> u64 {
        self.capacity / self.per_call
    }

    /// How many calls would pass at once now.
    pub(super) fn left(self, full_at: u64, now: u64) -> u64 {
        self.capacity.saturating_sub(full_at.saturating_sub(now)) / self.per_call
    }

    /// How long it takes to regain the whole burst, in nanoseconds.
    pub(super) fn refill_time(self) -> u64 {
        self.capacity
    }

    /// The state after a call, or how long the call has to wait.
    pub(super) fn charge(self, full_at: u64, now: u64, cost: u64) -> Result<u64, u64> {
        let after = full_at.max(now).saturating_add(cost);
        match (after - now).checked_sub(self.capacity) {
            None | Some(0) => Ok(after),
            Some(wait) => Err(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_passes_at_once_and_then_one_call_after_the_other() {
        let gcra = Gcra::new(Rate::new(10, 1).unwrap(), Some(3));
        let (mut state, now, cost) = (0, 5 * SECOND, gcra.cost(1));
        for _ in 0..3 {
            state = gcra.charge(state, now, cost).unwrap();
        }
        assert_eq!(gcra.charge(state, now, cost), Err(SECOND / 10));
        let later = now + SECOND / 10;
        state = gcra.charge(state, later, cost).unwrap();
        assert_eq!(gcra.charge(state, later, cost), Err(SECOND / 10));
        assert_eq!(gcra.charge(state, later, gcra.cost(2)), Err(SECOND / 5));
        assert_eq!(gcra.cost(1000), gcra.cost(3), "a heavy call takes the whole burst");
        assert_eq!(gcra.cost(0), 0);
    }

    proptest! {
        /// Against the definition: a bucket of tokens that refills with time.
        #[test]
        fn it_agrees_with_a_bucket_of_tokens(
            burst in 1_u32..50, steps in prop::collection::vec((0_u64..200, 0_u32..5), 1..200)
        ) {
            let gcra = Gcra { per_call: 1000 * 60, capacity: 1000 * 60 * u64::from(burst) };
            let (mut state, mut now, mut room) = (0, 1_000_000_000, gcra.capacity);
            for (pause, weight) in steps {
                let pause = pause * 997;
                now += pause;
                room = (room + pause).min(gcra.capacity);
                let cost = gcra.cost(weight);
                match gcra.charge(state, now, cost) {
                    Ok(after) => {
                        prop_assert!(room >= cost);
                        room -= cost;
                        state = after;
                    }
                    Err(wait) => prop_assert_eq!(wait, cost - room),
                }
            }
        }
    }
}
