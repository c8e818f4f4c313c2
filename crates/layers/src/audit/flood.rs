//! Sums up equal events, so that a flood of them writes few lines.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime};

use super::event::{AuditEvent, AuditKind, sum_line};

/// How long equal events are counted together.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// How many equal events are written in a window before the rest is counted.
const WRITTEN: u64 = 5;
/// How many different events are told apart in a window. Further ones are counted by kind.
const DIFFERENT: usize = 512;
/// How many kinds are told apart among those.
const KINDS: usize = 64;

/// The events of the current window. A plain value: it knows neither threads nor files.
#[derive(Default)]
pub(super) struct Flood {
    /// Secret, so that no caller can make its events look equal to those of another.
    hashing: RandomState,
    ends_at: Option<Instant>,
    counts: HashMap<u64, Count>,
    others: HashMap<AuditKind, u64>,
}

struct Count {
    seen: u64,
    /// The line of one that was not written, as it was, up to the number that is known at the end.
    last: Option<String>,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Write,
    Counted,
}

/// The number in the line of an event that stands for others.
const NUMBER: &str = "\"repeated\":0}";

impl Flood {
    /// Counts an event.
    pub(super) fn add(&mut self, event: &AuditEvent<'_>, now: Instant) -> Verdict {
        self.ends_at.get_or_insert(now + WINDOW);
        let mut hasher = self.hashing.build_hasher();
        event.hash_into(&mut hasher);
        let key = hasher.finish();
        if self.counts.len() >= DIFFERENT && !self.counts.contains_key(&key) {
            if self.others.len() < KINDS || self.others.contains_key(&event.kind) {
                *self.others.entry(event.kind).or_default() += 1;
            }
            return Verdict::Counted;
        }
        let count = self.counts.entry(key).or_insert(Count { seen: 0, last: None });
        count.seen += 1;
        if count.seen <= WRITTEN {
            return Verdict::Write;
        }
        if count.last.is_none() {
            count.last = Some(event.line(SystemTime::now(), Some(0)));
        }
        Verdict::Counted
    }

    /// The sums of a window that has ended, and how long the current one lasts, if there is one.
    pub(super) fn end_window(&mut self, now: Instant) -> (String, Option<Duration>) {
        match self.ends_at {
            Some(ends_at) if ends_at <= now => (self.take_sums(), None),
            Some(ends_at) => (String::new(), Some(ends_at - now)),
            None => (String::new(), None),
        }
    }

    /// Ends the window: a line for each event that was not written.
    pub(super) fn take_sums(&mut self) -> String {
        self.ends_at = None;
        let mut text = String::new();
        for Count { seen, last } in std::mem::take(&mut self.counts).into_values() {
            let Some(line) = last else { continue };
            let end = format!("\"repeated\":{}}}\n", seen - WRITTEN);
            text.push_str(line.trim_end().strip_suffix(NUMBER).unwrap_or_default());
            text.push_str(&end);
        }
        for (kind, count) in std::mem::take(&mut self.others) {
            text.push_str(&sum_line(SystemTime::now(), kind, count));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchboard_core::{Context, Origin};

    use super::*;

    fn cx(number: u32) -> Context {
        let address = (std::net::Ipv4Addr::from_bits(number), 1).into();
        Context::new(Origin::new("tcp").with_address(address))
    }

    fn read(sums: &str) -> Vec<Value> {
        sums.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn equal_events_are_written_a_few_times_and_then_counted() {
        let (mut flood, now) = (Flood::default(), Instant::now());
        let (one, other) = (cx(1), cx(2));
        let mut add = |cx, reason| flood.add(&AuditEvent::new(AuditKind::DENIED).by(cx).reason(reason), now);
        let written = (0..1000).filter(|_| add(&one, "a") == Verdict::Write).count();
        assert_eq!(written, 5);
        assert_eq!((add(&other, "a"), add(&one, "b")), (Verdict::Write, Verdict::Write));
        let (sums, left) = flood.end_window(now + WINDOW / 2);
        assert_eq!((sums.as_str(), left), ("", Some(WINDOW / 2)));
        let (sums, left) = flood.end_window(now + WINDOW);
        let sums = read(&sums);
        assert_eq!((sums.len(), left), (1, None));
        assert_eq!((&sums[0]["repeated"], &sums[0]["reason"]), (&995.into(), &"a".into()));
        // The next window begins with the next event.
        assert_eq!(flood.add(&AuditEvent::new(AuditKind::DENIED).by(&one), now + 2 * WINDOW), Verdict::Write);
        assert_eq!(flood.end_window(now + 2 * WINDOW).1, Some(WINDOW));
    }

    #[test]
    fn events_of_many_addresses_write_a_bounded_number_of_bytes() {
        let (mut flood, now) = (Flood::default(), Instant::now());
        let mut bytes = 0;
        for round in 0..10 {
            for number in 0..10_000 {
                let (cx, method) = (cx(number), format!("{round}{}", "m".repeat(1000)));
                let event = AuditEvent::new(AuditKind::DENIED).by(&cx).method(&method);
                if flood.add(&event, now) == Verdict::Write {
                    bytes += event.line(SystemTime::now(), None).len();
                }
            }
        }
        let sums = flood.take_sums();
        let last = read(&sums).pop().unwrap();
        assert_eq!(last["repeated"], 10 * (10_000 - DIFFERENT as u64));
        let total = bytes + sums.len();
        // 100,000 events of more than a kilobyte each.
        assert!(total < 2 << 20, "{total}");
    }
}
