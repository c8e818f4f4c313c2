//! The time of a moment, without a look at the clock for each.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

/// How long two clocks are taken to go alike: the system's may be set meanwhile.
const TRUSTED: Duration = Duration::from_secs(1);

/// The time at a moment; now if there is none.
pub(super) fn of(moment: Option<Instant>) -> SystemTime {
    thread_local! {
        static LAST: Cell<Option<(Instant, SystemTime)>> = const { Cell::new(None) };
    }
    let Some(moment) = moment else { return SystemTime::now() };
    let since = |(then, time): (Instant, SystemTime)| {
        let passed = moment.checked_duration_since(then).filter(|passed| *passed < TRUSTED)?;
        time.checked_add(passed)
    };
    LAST.get().and_then(since).unwrap_or_else(|| {
        let (now, time) = (Instant::now(), SystemTime::now());
        LAST.set(Some((now, time)));
        time.checked_sub(now.saturating_duration_since(moment)).unwrap_or(time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_time_whichever_way_it_is_found() {
        let (now, time) = (Instant::now(), SystemTime::now());
        let is_near = |found: SystemTime, ahead: Duration| {
            let expected = time + ahead;
            let off = found.duration_since(expected).or_else(|_| expected.duration_since(found)).unwrap();
            assert!(off < Duration::from_millis(500), "{off:?}");
        };
        is_near(of(Some(now)), Duration::ZERO);
        for ahead in [Duration::ZERO, Duration::from_millis(900), Duration::from_secs(60)] {
            is_near(of(Some(now + ahead)), if ahead > TRUSTED { Duration::ZERO } else { ahead });
        }
    }
}
