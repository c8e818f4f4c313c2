//! What one worker measured: a plain value that only this worker touches until the run is over.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use super::line::Traffic;
use super::timeline::Timeline;

/// What was measured, by one worker or by all.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// How long messages took, in nanoseconds: those that were answered, and those that timed out.
    pub(crate) latency: Histogram<u64>,
    /// When calls were answered.
    pub(crate) timeline: Timeline,
    /// Calls that gave a result.
    pub(crate) results: u64,
    /// Items of streams among them.
    pub(crate) items: u64,
    /// Calls that were answered with an error: how many, and the first message, by code.
    pub(crate) rejected: BTreeMap<i64, (u64, String)>,
    /// Calls that gave no result, for whatever reason.
    pub(crate) errors: u64,
    /// Calls that were not answered: how many, and what was said of the first, by why.
    pub(crate) failed: BTreeMap<Kind, (u64, String)>,
    /// Batches that were answered with one error in the place of their answers.
    pub(crate) refused_batches: u64,
    /// Bytes that went over the connections, once they were made.
    pub(crate) traffic: Traffic,
    /// Connections that broke and were made again.
    pub(crate) reconnects: u64,
    /// How the generator kept to its schedule.
    pub(crate) pace: Pacing,
    /// Calls that were not over when the run was ended.
    pub(crate) under_way: u64,
    /// From when calls are measured, and when the last one was over.
    span: Option<(Instant, Instant)>,
}

/// Why a call was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// No answer came in time.
    TimedOut,
    /// The connection broke before the answer came.
    ConnectionLost,
    /// The received text was not JSON-RPC, or not the answer.
    BadAnswer,
}

/// How well calls were made at the times when they were due.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pacing {
    /// Messages that this program sent more than [`TOLERANCE`] late although there was a place.
    pub(crate) late: u64,
    /// How late at most.
    pub(crate) worst: Duration,
    /// Messages that waited because every place was taken: the server was slow.
    pub(crate) held_back: u64,
    /// Calls that were due and not sent before the end.
    pub(crate) unsent: u64,
}

/// How late this program may be before it says so.
const TOLERANCE: Duration = Duration::from_millis(1);

impl Pacing {
    /// Takes note of when a message was sent that was due at `due`, when there has been a place since `open_since`.
    pub(crate) fn note(&mut self, due: Instant, open_since: Instant, now: Instant) {
        self.held_back += u64::from(open_since > due);
        let late = now.saturating_duration_since(due.max(open_since));
        self.late += u64::from(late > TOLERANCE);
        self.worst = self.worst.max(late);
    }
}

impl Kind {
    /// The kind's name in a report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::TimedOut => "timedOut",
            Kind::ConnectionLost => "connectionLost",
            Kind::BadAnswer => "badAnswer",
        }
    }
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            latency: Histogram::new(3).expect("three digits are within its bounds"),
            timeline: Timeline::new(),
            results: 0,
            items: 0,
            rejected: BTreeMap::new(),
            errors: 0,
            failed: BTreeMap::new(),
            refused_batches: 0,
            traffic: Traffic::default(),
            reconnects: 0,
            pace: Pacing::default(),
            under_way: 0,
            span: None,
        }
    }

    /// Takes note of one message that was answered with these replies, or timed out, after this time.
    pub(crate) fn took(&mut self, from: Instant, due: Instant, now: Instant, calls: u64) {
        let time = u64::try_from((now - due).as_nanos()).unwrap_or(u64::MAX);
        // It grows with what is recorded.
        let recorded = self.latency.record(time.max(1));
        debug_assert!(recorded.is_ok());
        self.timeline.count(now.saturating_duration_since(from), calls);
        let (_, last) = self.span.get_or_insert((from, now));
        *last = now.max(*last);
    }

    /// Takes note of so many calls that were answered with this error.
    pub(crate) fn reject(&mut self, code: i64, message: String, calls: u64) {
        self.errors += calls;
        self.rejected.entry(code).or_insert((0, message)).0 += calls;
    }

    /// Takes note of so many calls that were not answered.
    pub(crate) fn fail(&mut self, kind: Kind, what: &str, calls: u64) {
        self.errors += calls;
        self.failed.entry(kind).or_insert_with(|| (0, what.to_owned())).0 += calls;
    }

    /// How long it took from when calls are measured until the last was answered.
    pub(crate) fn elapsed(&self) -> Duration {
        self.span.map_or(Duration::ZERO, |(from, last)| last - from)
    }

    /// Adds what another worker measured.
    pub(crate) fn add(&mut self, other: Tally) {
        // Both grow as they need to.
        let added = self.latency.add(&other.latency);
        debug_assert!(added.is_ok());
        self.timeline.add(other.timeline);
        self.results += other.results;
        self.items += other.items;
        self.errors += other.errors;
        for (code, (count, message)) in other.rejected {
            self.rejected.entry(code).or_insert((0, message)).0 += count;
        }
        for (kind, (count, what)) in other.failed {
            self.failed.entry(kind).or_insert((0, what)).0 += count;
        }
        self.refused_batches += other.refused_batches;
        self.traffic.sent += other.traffic.sent;
        self.traffic.received += other.traffic.received;
        self.reconnects += other.reconnects;
        self.pace.late += other.pace.late;
        self.pace.worst = self.pace.worst.max(other.pace.worst);
        self.pace.held_back += other.pace.held_back;
        self.pace.unsent += other.pace.unsent;
        self.under_way += other.under_way;
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_workers_measured_adds_up() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut all = Tally::new();
        for worker in 1..=2 {
            let mut tally = Tally::new();
            tally.took(start, start, after(10 * worker), 1);
            tally.results += 1;
            tally.reject(-5, "no".to_owned(), 3);
            tally.fail(Kind::TimedOut, "late", 1);
            tally.traffic = Traffic { sent: 7, received: 5 };
            all.add(tally);
        }
        assert_eq!((all.results, all.errors), (2, 8));
        assert_eq!(all.traffic, Traffic { sent: 14, received: 10 });
        assert_eq!(all.rejected[&-5], (6, "no".to_owned()));
        assert_eq!(all.failed[&Kind::TimedOut], (2, "late".to_owned()));
        assert_eq!(all.latency.len(), 2);
        assert_eq!(all.elapsed(), Duration::from_millis(20));
    }
}
