//! The time of a moment, without a look at the clock for each.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use crate::lines::since_1970;

/// How long two clocks are taken to go alike: the system's may be set meanwhile.
const TRUSTED: Duration = Duration::from_secs(1);

/// The time since 1970 at so long after a moment; now if there is none.
pub(super) fn of(moment: Option<(Instant, Duration)>) -> Duration {
    thread_local! {
        static LAST: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
    }
    let Some((moment, after)) = moment else { return since_1970(SystemTime::now()) };
    let since = |(then, time): (Instant, Duration)| {
        let passed = match moment.checked_duration_since(then) {
            Some(before) => before.checked_add(after),
            None => after.checked_sub(then.saturating_duration_since(moment)),
        }?;
        if passed < TRUSTED { time.checked_add(passed) } else { None }
    };
    LAST.get().and_then(since).unwrap_or_else(|| {
        let (now, time) = (Instant::now(), since_1970(SystemTime::now()));
        LAST.set(Some((now, time)));
        time.saturating_add(after).saturating_sub(now.saturating_duration_since(moment))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_time_whichever_way_it_is_found() {
        let (now, time) = (Instant::now(), SystemTime::now());
        let is_near = |found: Duration, ahead: Duration| {
            let off = found.abs_diff(since_1970(time) + ahead);
            assert!(off < Duration::from_millis(500), "{off:?}");
        };
        let [none, most] = [Duration::ZERO, Duration::from_millis(900)];
        is_near(of(Some((now, none))), none);
        for (ahead, after, expected) in [
            (none, none, none),
            (most, none, most),
            (none, most, most),
            (Duration::from_secs(60), none, none),
        ] {
            is_near(of(Some((now + ahead, after))), expected);
        }
    }
}
