//! How long to wait between attempts to connect: plain values without a clock.

use std::time::Duration;

/// The delays between attempts to connect.
///
/// The upper bound of the delay grows from `first` by `factor` up to `longest`. The delay itself is a random part of
/// that bound, so that clients that lost the same server do not all reconnect at the same moment.
///
/// # Examples
///
/// ```
/// use switchboard_core::reconnect::Backoff;
///
/// let backoff = Backoff::default().with_attempts(Some(5));
/// assert_eq!(backoff.first.as_millis(), 100);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The longest delay after the first failure: 100 ms.
    pub first: Duration,
    /// The factor by which the longest delay grows with each failure: 2. Values below 1 count as 1.
    pub factor: f64,
    /// The upper bound of all delays: 30 s.
    pub longest: Duration,
    /// How much of the delay is random, from 0 (nothing: always the longest delay) to 1 (all of it): 1.
    pub jitter: f64,
    /// How many attempts in a row may fail before the peer gives up: unlimited (`None`). A call that is
    /// [repeated](crate::reconnect::RepeatPolicy) is sent at most this often.
    pub attempts: Option<u32>,
    /// How many attempts may fail before the first connection: the same as `attempts` (`None`). With `Some(1)`, a server
    /// that was never there fails at once, while a server that was there is waited for.
    pub initial_attempts: Option<u32>,
    /// How long a connection must last before the failures that preceded it are forgotten: 5 s. A connection that breaks
    /// sooner counts as a failed attempt, so a server that accepts connections only to drop them is not flooded.
    pub steady: Duration,
    /// The seed of the random delays; equal seeds give equal delays. A random seed (`None`) by default.
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
            initial_attempts: None,
            steady: Duration::from_secs(5),
            seed: None,
        }
    }
}

impl Backoff {
    /// Sets [`first`](Backoff::first).
    #[must_use]
    pub fn with_first(mut self, first: Duration) -> Backoff {
        self.first = first;
        self
    }

    /// Sets [`factor`](Backoff::factor).
    #[must_use]
    pub fn with_factor(mut self, factor: f64) -> Backoff {
        self.factor = factor;
        self
    }

    /// Sets [`longest`](Backoff::longest).
    #[must_use]
    pub fn with_longest(mut self, longest: Duration) -> Backoff {
        self.longest = longest;
        self
    }

    /// Sets [`jitter`](Backoff::jitter).
    #[must_use]
    pub fn with_jitter(mut self, jitter: f64) -> Backoff {
        self.jitter = jitter;
        self
    }

    /// Sets [`attempts`](Backoff::attempts).
    #[must_use]
    pub fn with_attempts(mut self, attempts: Option<u32>) -> Backoff {
        self.attempts = attempts;
        self
    }

    /// Sets [`initial_attempts`](Backoff::initial_attempts).
    #[must_use]
    pub fn with_initial_attempts(mut self, initial_attempts: Option<u32>) -> Backoff {
        self.initial_attempts = initial_attempts;
        self
    }

    /// Sets [`steady`](Backoff::steady).
    #[must_use]
    pub fn with_steady(mut self, steady: Duration) -> Backoff {
        self.steady = steady;
        self
    }

    /// Sets [`seed`](Backoff::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Backoff {
        self.seed = seed;
        self
    }
}

impl Backoff {
    /// The delays between attempts if all of them fail. It ends when no further attempt is due.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::reconnect::Backoff;
    ///
    /// let backoff = Backoff::default().with_attempts(Some(3)).with_jitter(0.0);
    /// let delays: Vec<_> = backoff.delays().map(|delay| delay.as_millis()).collect();
    /// assert_eq!(delays, [100, 200]);
    /// ```
    pub fn delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        let mut attempts = Attempts::new(self);
        std::iter::from_fn(move || attempts.failed())
    }
}

/// The attempts of one client so far.
pub(super) struct Attempts {
    backoff: Backoff,
    random: fastrand::Rng,
    failures: u32,
    /// Whether there was ever a connection.
    has_connected: bool,
}

impl Attempts {
    pub(super) fn new(backoff: &Backoff) -> Attempts {
        let random = backoff.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Attempts { backoff: backoff.clone(), random, failures: 0, has_connected: false }
    }

    /// The number of the current or next attempt since the last success, from 1 on.
    pub(super) fn number(&self) -> u32 {
        self.failures.saturating_add(1)
    }

    /// Records a failed attempt. Returns the delay before the next one, or `None` if no further attempt is due.
    pub(super) fn failed(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let initial = self.backoff.initial_attempts.filter(|_| !self.has_connected);
        let is_last = initial.or(self.backoff.attempts).is_some_and(|limit| self.failures >= limit);
        (!is_last).then(|| self.delay())
    }

    /// Records that a connection broke after it had lasted this long. Returns the delay before the next attempt, or
    /// `None` if no further attempt is due.
    pub(super) fn broke(&mut self, lasted: Duration) -> Option<Duration> {
        self.connected();
        if lasted < self.backoff.steady {
            return self.failed();
        }
        self.failures = 0;
        Some(self.delay())
    }

    /// Records that the server was there.
    pub(super) fn connected(&mut self) {
        self.has_connected = true;
    }

    /// Records that the server was there, and forgets earlier failures.
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.has_connected) = (0, true);
    }

    fn delay(&mut self) -> Duration {
        let Backoff { first, factor, longest, jitter, .. } = self.backoff;
        let growth = factor.max(1.0).powf(f64::from(self.failures.saturating_sub(1)));
        // If the product overflows or is NaN, `min` picks the longest delay.
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
        let mut attempts = Attempts::new(&plain());
        let delays: Vec<_> = (0..6).map(|_| attempts.failed().unwrap().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn attempts_are_counted_since_the_last_steady_connection() {
        let mut attempts = Attempts::new(&Backoff { attempts: Some(3), ..plain() });
        assert!(attempts.failed().is_some() && attempts.failed().is_some());
        assert_eq!(attempts.number(), 3);
        assert_eq!(attempts.broke(5000 * MS), Some(100 * MS));
        assert_eq!(attempts.number(), 1);
        assert!(attempts.failed().is_some() && attempts.failed().is_some());
        assert_eq!(attempts.failed(), None);
    }

    #[test]
    fn a_connection_that_breaks_soon_counts_as_a_failed_attempt() {
        let mut attempts = Attempts::new(&Backoff { attempts: Some(2), ..plain() });
        assert_eq!(attempts.broke(4999 * MS), Some(100 * MS));
        assert_eq!(attempts.broke(MS), None);
    }

    #[test]
    fn the_first_connection_has_a_limit_of_its_own() {
        let backoff = Backoff { initial_attempts: Some(1), ..plain() };
        assert_eq!(Attempts::new(&backoff).failed(), None);
        let mut attempts = Attempts::new(&backoff);
        assert!(attempts.broke(MS).is_some());
        assert!((0..100).all(|_| attempts.failed().is_some()));
        let backoff = Backoff { initial_attempts: Some(3), attempts: Some(1), ..plain() };
        let mut attempts = Attempts::new(&backoff);
        assert!(attempts.failed().is_some() && attempts.failed().is_some());
        attempts.succeeded();
        assert_eq!(attempts.failed(), None);
    }

    #[test]
    fn full_jitter_stays_below_the_longest_delay_and_follows_its_seed() {
        let backoff = Backoff { jitter: 1.0, seed: Some(7), ..plain() };
        let delays = || {
            let mut attempts = Attempts::new(&backoff);
            (0..200).map(|_| attempts.failed().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(delays(), delays());
        assert!(delays().iter().all(|delay| *delay <= 1000 * MS));
        let shorter = delays()[5..].iter().filter(|delay| **delay < 500 * MS).count();
        assert!((60..140).contains(&shorter), "{shorter} of 195");
    }

    #[test]
    fn no_number_makes_a_delay_that_is_too_long() {
        for odd in [f64::NAN, f64::INFINITY, f64::MAX, -1.0] {
            let mut attempts = Attempts::new(&Backoff { factor: odd, jitter: odd, ..plain() });
            assert!((0..100).all(|_| attempts.failed().unwrap() <= 1000 * MS), "{odd}");
        }
    }
}
