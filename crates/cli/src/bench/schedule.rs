//! When calls are sent: a plain value, without a runtime.
//!
//! At a rate, call number `k` is due at `start + k / rate`, whatever happened to the calls before it. Nothing that the
//! server does moves that time, and a latency that is counted from it holds all the waiting of a caller who came then.
//! A generator that waits for an answer before it makes up its mind to call again would leave out the very calls that
//! a stall hurts.

use std::time::Duration;

use tokio::time::Instant;

use super::plan::Plan;

/// When one worker's calls are due.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// When the first call is due.
    start: Instant,
    /// Calls that are due from here on are measured.
    measured_from: Instant,
    /// No call is due from here on.
    end: Option<Instant>,
    /// Measured calls that are still to be made.
    left: Option<u64>,
    batch: u64,
    pace: Pace,
}

#[derive(Debug)]
enum Pace {
    /// A call is due whenever there is a place for it.
    FlatOut,
    /// Messages are due at fixed times; of all workers' messages this one makes every `stride`th.
    Fixed { seconds_each: f64, next: u64, stride: u64 },
}

/// A message that is to be sent now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Due {
    /// Since when it is due.
    pub(crate) at: Instant,
    /// How many calls it has.
    pub(crate) calls: u64,
    /// Whether they are measured.
    pub(crate) is_measured: bool,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// This, now.
    Now(Due),
    /// Nothing before this moment.
    Later(Instant),
    /// Nothing any more.
    Over,
}

/// How long answers to the last calls may come after the end of the time that is measured.
const GRACE: Duration = Duration::from_secs(1);

impl Schedule {
    /// The schedule of one of the plan's threads, for a run that begins at `start`.
    pub(crate) fn new(plan: &Plan, thread: usize, start: Instant) -> Schedule {
        let measured_from = start + plan.warm_up();
        let pace = match plan.rate {
            None => Pace::FlatOut,
            Some(rate) => Pace::Fixed {
                seconds_each: plan.batch as f64 / rate,
                next: thread as u64,
                stride: plan.threads as u64,
            },
        };
        Schedule {
            start,
            measured_from,
            end: plan.duration().map(|duration| measured_from + duration),
            left: plan.count.map(|count| plan.share(count, thread)),
            batch: plan.batch as u64,
            pace,
        }
    }

    /// When the first call is due.
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// When measuring begins.
    pub(crate) fn measured_from(&self) -> Instant {
        self.measured_from
    }

    /// Whether no call will be due any more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.due(now).is_none()
    }

    /// Whether answers are not waited for any more, so that the run lasts no longer than it was given.
    pub(crate) fn is_closed(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| now >= end + GRACE)
    }

    fn is_past(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// Takes what is due now. What is taken is never given again.
    pub(crate) fn take(&mut self, now: Instant) -> Next {
        let Some(at) = self.due(now) else { return Next::Over };
        if at > now {
            return Next::Later(at);
        }
        if let Pace::Fixed { next, stride, .. } = &mut self.pace {
            *next += *stride;
        }
        let is_measured = at >= self.measured_from;
        let calls = match &mut self.left {
            Some(left) if is_measured => {
                let calls = self.batch.min(*left);
                *left -= calls;
                calls
            }
            _ => self.batch,
        };
        Next::Now(Due { at, calls, is_measured })
    }

    /// Calls that were due by `now`, are measured, and were not taken.
    pub(crate) fn overdue(&self, now: Instant) -> u64 {
        let Pace::Fixed { seconds_each, next, stride } = self.pace else { return 0 };
        let until = self.end.map_or(now, |end| end.min(now));
        // The numbers of the first message that is due at this moment or later.
        let number = |moment: Instant| ((moment - self.start).as_secs_f64() / seconds_each).ceil() as u64;
        let skipped = number(self.measured_from).saturating_sub(next).div_ceil(stride);
        let messages = number(until).saturating_sub(next + skipped * stride).div_ceil(stride);
        let calls = messages * self.batch;
        self.left.map_or(calls, |left| calls.min(left))
    }

    /// When the next message is due, if there is one.
    fn due(&self, now: Instant) -> Option<Instant> {
        let at = match self.pace {
            Pace::FlatOut => now,
            Pace::Fixed { seconds_each, next, .. } => {
                self.start + Duration::from_secs_f64(next as f64 * seconds_each)
            }
        };
        // What became due and was not sent until the end is told as such: sending it would make the run longer.
        let is_past = self.is_past(at) || self.is_past(now);
        let is_done = self.left == Some(0) && at >= self.measured_from;
        (!is_past && !is_done).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::plan;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn now_at(next: Next) -> Instant {
        match next {
            Next::Now(due) => due.at,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn at_a_rate_calls_are_due_at_fixed_times_whatever_happens() {
        let start = Instant::now();
        let mut schedule = Schedule::new(&Plan { rate: Some(100.0), seconds: Some(1.0), ..plan() }, 0, start);
        assert_eq!(now_at(schedule.take(start)), start);
        assert_eq!(schedule.take(start), Next::Later(start + 10 * MS));
        // Nobody looked for half a second: the calls of that time are due since their own moments.
        let late = start + 500 * MS;
        let due: Vec<Instant> = std::iter::from_fn(|| match schedule.take(late) {
            Next::Now(due) => Some(due.at),
            _ => None,
        })
        .collect();
        assert_eq!(due.len(), 50);
        assert_eq!((due[0], due[49]), (start + 10 * MS, late));
        assert_eq!(schedule.take(start + 1000 * MS), Next::Over);
        assert_eq!(schedule.overdue(start + 2000 * MS), 49);
    }

    #[tokio::test(start_paused = true)]
    async fn threads_take_turns() {
        let start = Instant::now();
        let plan = Plan { rate: Some(1000.0), threads: 2, count: Some(3), ..plan() };
        let due = |thread| {
            let mut schedule = Schedule::new(&plan, thread, start);
            std::iter::from_fn(move || match schedule.take(start + 100 * MS) {
                Next::Now(due) => Some(due.at - start),
                _ => None,
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(due(0), [Duration::ZERO, 2 * MS]);
        assert_eq!(due(1), [MS]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_before_the_measuring_does_not_count() {
        let start = Instant::now();
        let plan = Plan { rate: Some(10.0), count: Some(2), warm_up: 0.2, ..plan() };
        let mut schedule = Schedule::new(&plan, 0, start);
        let marks: Vec<bool> = std::iter::from_fn(|| match schedule.take(start + 1000 * MS) {
            Next::Now(due) => Some(due.is_measured),
            _ => None,
        })
        .collect();
        assert_eq!(marks, [false, false, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn flat_out_a_call_is_due_whenever_there_is_a_place() {
        let start = Instant::now();
        let mut schedule = Schedule::new(&Plan { seconds: Some(1.0), ..plan() }, 0, start);
        assert_eq!(now_at(schedule.take(start)), start);
        assert_eq!(now_at(schedule.take(start + MS)), start + MS);
        assert_eq!(schedule.take(start + 1000 * MS), Next::Over);
        assert_eq!(schedule.overdue(start + 1000 * MS), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_due_as_often_as_their_calls_make_the_rate() {
        let start = Instant::now();
        let plan = Plan { rate: Some(100.0), batch: 10, count: Some(25), ..plan() };
        let mut schedule = Schedule::new(&plan, 0, start);
        let calls: Vec<(u64, Duration)> = std::iter::from_fn(|| match schedule.take(start + 1000 * MS) {
            Next::Now(due) => Some((due.calls, due.at - start)),
            _ => None,
        })
        .collect();
        assert_eq!(calls, [(10, Duration::ZERO), (10, 100 * MS), (5, 200 * MS)]);
    }
}
