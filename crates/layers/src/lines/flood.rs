//! Sums up equal events, so that a flood of them writes few lines.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

/// How long equal events are counted together.
pub(crate) const WINDOW: Duration = Duration::from_secs(10);
/// How many equal events are written in a window before the rest is counted.
const WRITTEN: u64 = 5;
/// How many different events are told apart in a window. Further ones are counted by kind.
const DIFFERENT: usize = 512;
/// How many kinds are told apart among those.
const KINDS: usize = 64;

/// An event that may occur again and again.
pub(crate) trait Repeatable {
    /// What is counted when there are too many different events.
    type Kind: Copy + Eq + Hash;

    fn kind(&self) -> Self::Kind;

    /// Hashes what makes events equal.
    fn hash_into(&self, hasher: &mut impl Hasher);

    /// The event as a line.
    fn line(&self, time: SystemTime) -> String;

    /// The same line, standing for so many others.
    fn repeated(line: &str, count: u64) -> String;

    /// A line for further events of a kind, by too many different callers to name them.
    fn sum(kind: Self::Kind, time: SystemTime, count: u64) -> String;
}

/// The events of the current window. A plain value: it knows neither threads nor files.
pub(crate) struct Flood<K> {
    /// Secret, so that no caller can make its events look equal to those of another.
    hashing: RandomState,
    ends_at: Option<Instant>,
    counts: HashMap<u64, Count>,
    others: HashMap<K, u64>,
}

impl<K> Default for Flood<K> {
    fn default() -> Flood<K> {
        let (counts, others) = (HashMap::new(), HashMap::new());
        Flood { hashing: RandomState::new(), ends_at: None, counts, others }
    }
}

struct Count {
    seen: u64,
    /// The line of one that was not written.
    last: Option<String>,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FloodVerdict {
    Write,
    Counted,
}

impl<K: Copy + Eq + Hash> Flood<K> {
    /// Counts an event.
    pub(crate) fn add(&mut self, event: &impl Repeatable<Kind = K>, now: Instant) -> FloodVerdict {
        self.ends_at.get_or_insert(now + WINDOW);
        let mut hasher = self.hashing.build_hasher();
        event.hash_into(&mut hasher);
        let key = hasher.finish();
        if self.counts.len() >= DIFFERENT && !self.counts.contains_key(&key) {
            let kind = event.kind();
            if self.others.len() < KINDS || self.others.contains_key(&kind) {
                *self.others.entry(kind).or_default() += 1;
            }
            return FloodVerdict::Counted;
        }
        let count = self.counts.entry(key).or_insert(Count { seen: 0, last: None });
        count.seen += 1;
        if count.seen <= WRITTEN {
            return FloodVerdict::Write;
        }
        if count.last.is_none() {
            count.last = Some(event.line(SystemTime::now()));
        }
        FloodVerdict::Counted
    }

    /// The sums of a window that has ended, and how long the current one lasts, if there is one.
    pub(crate) fn end_window<E: Repeatable<Kind = K>>(&mut self, now: Instant) -> (String, Option<Duration>) {
        match self.ends_at {
            Some(ends_at) if ends_at <= now => (self.take_sums::<E>(), None),
            Some(ends_at) => (String::new(), Some(ends_at - now)),
            None => (String::new(), None),
        }
    }

    /// Ends the window: a line for each event that was not written.
    pub(crate) fn take_sums<E: Repeatable<Kind = K>>(&mut self) -> String {
        self.ends_at = None;
        let mut text = String::new();
        for Count { seen, last } in std::mem::take(&mut self.counts).into_values() {
            if let Some(line) = last {
                text.push_str(&E::repeated(&line, seen - WRITTEN));
            }
        }
        for (kind, count) in std::mem::take(&mut self.others) {
            text.push_str(&E::sum(kind, SystemTime::now(), count));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchboard_core::{Context, Origin};

    use super::*;
    use crate::audit::{AuditEvent, AuditKind};

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
        let written = (0..1000).filter(|_| add(&one, "a") == FloodVerdict::Write).count();
        assert_eq!(written, 5);
        assert_eq!((add(&other, "a"), add(&one, "b")), (FloodVerdict::Write, FloodVerdict::Write));
        let (sums, left) = flood.end_window::<AuditEvent<'_>>(now + WINDOW / 2);
        assert_eq!((sums.as_str(), left), ("", Some(WINDOW / 2)));
        let (sums, left) = flood.end_window::<AuditEvent<'_>>(now + WINDOW);
        let sums = read(&sums);
        assert_eq!((sums.len(), left), (1, None));
        assert_eq!((&sums[0]["repeated"], &sums[0]["reason"]), (&995.into(), &"a".into()));
        // The next window begins with the next event.
        assert_eq!(
            flood.add(&AuditEvent::new(AuditKind::DENIED).by(&one), now + 2 * WINDOW),
            FloodVerdict::Write
        );
        assert_eq!(flood.end_window::<AuditEvent<'_>>(now + 2 * WINDOW).1, Some(WINDOW));
    }

    #[test]
    fn events_of_many_addresses_write_a_bounded_number_of_bytes() {
        let (mut flood, now) = (Flood::default(), Instant::now());
        let mut bytes = 0;
        for round in 0..10 {
            for number in 0..10_000 {
                let (cx, method) = (cx(number), format!("{round}{}", "m".repeat(1000)));
                let event = AuditEvent::new(AuditKind::DENIED).by(&cx).method(&method);
                if flood.add(&event, now) == FloodVerdict::Write {
                    bytes += event.line(SystemTime::now()).len();
                }
            }
        }
        let sums = flood.take_sums::<AuditEvent<'_>>();
        let last = read(&sums).pop().unwrap();
        assert_eq!(last["repeated"], 10 * (10_000 - DIFFERENT as u64));
        let total = bytes + sums.len();
        // 100,000 events of more than a kilobyte each.
        assert!(total < 2 << 20, "{total}");
    }
}
