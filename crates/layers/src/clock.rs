//! The time of day, as layers that compare it with timestamps see it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A clock that never runs backwards: its time is the latest that it has ever told. Cheap to clone; clones share it.
///
/// If the machine's clock is set back, messages that have expired stay expired.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_layers::Clock;
///
/// let clock = Clock::manual(1_728_623_456);
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.seconds(), 1_728_623_461);
/// ```
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    /// The latest time told, in milliseconds since 1970.
    latest: AtomicU64,
    is_manual: bool,
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Clock {
        Clock(Arc::new(Inner { latest: AtomicU64::new(0), is_manual: false }))
    }

    /// A clock for tests, which shows this time, in seconds since 1970, until it is [advanced](Clock::advance).
    #[must_use]
    pub fn manual(seconds: u64) -> Clock {
        Clock(Arc::new(Inner { latest: AtomicU64::new(seconds.saturating_mul(1000)), is_manual: true }))
    }

    /// The time, in milliseconds since 1970.
    #[must_use]
    pub fn millis(&self) -> u64 {
        if self.0.is_manual {
            return self.0.latest.load(Ordering::Relaxed);
        }
        let (now, latest) = (wall_clock(), self.0.latest.load(Ordering::Relaxed));
        // Within a millisecond there is nothing to write, which would be seen by all threads.
        if now <= latest { latest } else { now.max(self.0.latest.fetch_max(now, Ordering::Relaxed)) }
    }

    /// The time, in whole seconds since 1970.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.millis() / 1000
    }

    /// Moves the clock forward. The machine's clock stands still afterwards until it has caught up.
    pub fn advance(&self, by: Duration) {
        let now = self.millis();
        self.reach(now.saturating_add(millis_of(by)));
    }

    /// Moves the clock forward to this time, in milliseconds since 1970, unless it is later already.
    pub fn reach(&self, millis: u64) {
        self.0.latest.fetch_max(millis, Ordering::Relaxed);
    }

    /// How far the machine's clock is behind this one: it was set back by so much.
    #[must_use]
    pub fn lag(&self) -> Duration {
        if self.0.is_manual {
            return Duration::ZERO;
        }
        Duration::from_millis(self.0.latest.load(Ordering::Relaxed).saturating_sub(wall_clock()))
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.seconds())
    }
}

pub(crate) fn millis_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn wall_clock() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, millis_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back() {
        let clock = Clock::system();
        let ahead = clock.millis() + 3_600_000;
        clock.reach(ahead);
        clock.reach(5);
        assert_eq!(clock.millis(), ahead);
        assert!(clock.lag() > Duration::from_secs(3_500));
        assert_eq!(Clock::manual(7).lag(), Duration::ZERO);
    }
}
