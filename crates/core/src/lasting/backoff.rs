//! How long to wait before the next attempt: plain values, no clock inside.

use std::time::Duration;

/// How attempts to connect follow each other.
///
/// The longest delay before an attempt grows from `first` by `factor` up to `longest`. The delay itself is a random part
/// of that, so that clients that lost the same server do not come back all at once.
///
/// # Examples
///
/// ```
/// use switchboard_core::lasting::Backoff;
///
/// let backoff = Backoff { attempts: Some(5), ..Backoff::default() };
/// assert_eq!(backoff.first.as_millis(), 100);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The longest delay before the first attempt after a failure: 100 ms.
    pub first: Duration,
    /// By how much the longest delay grows with each failure: 2. Less than 1 counts as 1.
    pub factor: f64,
    /// What the longest delay grows to: 30 s.
    pub longest: Duration,
    /// How much of the delay is left to chance, from 0 (none: always the longest delay) to 1 (all of it): 1.
    pub jitter: f64,
    /// How many attempts in a row may fail before no more are made: any number (`None`).
    pub attempts: Option<u32>,
    /// How long a connection must hold for the failures before it to be forgotten: 5 s. One that breaks sooner counts as
    /// a failed attempt, so a server that takes connections only to drop them is not stormed.
    pub steady: Duration,
    /// Where chance begins; the same seed gives the same delays. Every time another one (`None`).
    pub seed: Option<u64>,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff {
            first: Duration::from_millis(100),
            factor: 2.0,
            longest: Duration::from_secs(30),
            jitter: 1.0,
            attempts: None,
            steady: Duration::from_secs(5),
            seed: None,
        }
    }
}

impl Backoff {
    /// The delays before the attempts that follow a first one, if all of them fail, until no more are to be made.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::lasting::Backoff;
    ///
    /// let backoff = Backoff { attempts: Some(3), jitter: 0.0, ..Backoff::default() };
    /// let delays: Vec<_> = backoff.delays().map(|delay| delay.as_millis()).collect();
    /// assert_eq!(delays, [100, 200]);
    /// ```
    pub fn delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        let mut course = Course::new(self);
        std::iter::from_fn(move || course.failed())
    }
}

/// Where one client is in its attempts.
pub(super) struct Course {
    backoff: Backoff,
    random: fastrand::Rng,
    failures: u32,
}

impl Course {
    pub(super) fn new(backoff: &Backoff) -> Course {
        let random = backoff.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Course { backoff: backoff.clone(), random, failures: 0 }
    }

    /// The number of the attempt to come, or under way, since all was well.
    pub(super) fn attempt(&self) -> u32 {
        self.failures.saturating_add(1)
    }

    /// An attempt failed: how long to wait for the next, if there is to be one.
    pub(super) fn failed(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let is_last = self.backoff.attempts.is_some_and(|attempts| self.failures >= attempts);
        (!is_last).then(|| self.delay())
    }

    /// A connection broke after it had held this long: how long to wait before the next attempt, if there is to be one.
    pub(super) fn broke(&mut self, held: Duration) -> Option<Duration> {
        if held < self.backoff.steady {
            return self.failed();
        }
        self.failures = 0;
        Some(self.delay())
    }

    fn delay(&mut self) -> Duration {
        let Backoff { first, factor, longest, jitter, .. } = self.backoff;
        let growth = factor.max(1.0).powf(f64::from(self.failures.saturating_sub(1)));
        // A product that is too large, or no number, is the longest delay; `min` picks the other one of a NaN.
        let most = (first.as_secs_f64() * growth).min(longest.as_secs_f64());
        let part = 1.0 - jitter.clamp(0.0, 1.0) * self.random.f64();
        Duration::try_from_secs_f64(most * part).unwrap_or(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn plain() -> Backoff {
        Backoff { longest: 1000 * MS, jitter: 0.0, ..Backoff::default() }
    }

    #[test]
    fn delays_grow_up_to_the_longest() {
        let mut course = Course::new(&plain());
        let delays: Vec<_> = (0..6).map(|_| course.failed().unwrap().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn attempts_are_counted_since_all_was_well() {
        let mut course = Course::new(&Backoff { attempts: Some(3), ..plain() });
        assert!(course.failed().is_some() && course.failed().is_some());
        assert_eq!(course.attempt(), 3);
        assert_eq!(course.broke(5000 * MS), Some(100 * MS));
        assert_eq!(course.attempt(), 1);
        assert!(course.failed().is_some() && course.failed().is_some());
        assert_eq!(course.failed(), None);
    }

    #[test]
    fn a_connection_that_breaks_soon_counts_as_a_failed_attempt() {
        let mut course = Course::new(&Backoff { attempts: Some(2), ..plain() });
        assert_eq!(course.broke(4999 * MS), Some(100 * MS));
        assert_eq!(course.broke(MS), None);
    }

    #[test]
    fn full_jitter_stays_below_the_longest_delay_and_follows_its_seed() {
        let backoff = Backoff { jitter: 1.0, seed: Some(7), ..plain() };
        let delays = || {
            let mut course = Course::new(&backoff);
            (0..200).map(|_| course.failed().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(delays(), delays());
        assert!(delays().iter().all(|delay| *delay <= 1000 * MS));
        let shorter = delays()[5..].iter().filter(|delay| **delay < 500 * MS).count();
        assert!((60..140).contains(&shorter), "{shorter} of 195");
    }

    #[test]
    fn no_number_makes_a_delay_that_is_too_long() {
        for odd in [f64::NAN, f64::INFINITY, f64::MAX, -1.0] {
            let mut course = Course::new(&Backoff { factor: odd, jitter: odd, ..plain() });
            assert!((0..100).all(|_| course.failed().unwrap() <= 1000 * MS), "{odd}");
        }
    }
}
