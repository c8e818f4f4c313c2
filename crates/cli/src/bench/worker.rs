//! One thread's share of a run: its connections, what is under way on them, and its tally.
//!
//! A worker is one future that is polled by one thread. It sends what is due while there is a place for it, and takes
//! note of what is received. Nothing on this path is shared with another thread.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard::{CallError, Direction, Tap, Wire};
use tokio::time::{Instant, Sleep};

use super::alarm::Alarm;
use super::bells::Bells;
use super::flights::Flights;
use super::form::Form;
use super::line::{Connect, Line};
use super::plan::Plan;
use super::schedule::{Due, Next, Schedule};
use super::tally::{Kind, Tally};
use super::work::{Text, Work};

mod hearing;

/// The progress of a worker, for display. Only the worker writes it.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    /// Calls that are over, measured or not.
    pub(crate) done: AtomicU64,
    /// Measured calls that gave no result.
    pub(crate) errors: AtomicU64,
}

/// Connections that are made at once at the start.
const DIALS_AT_ONCE: usize = 32;
/// How long to wait before a broken connection is made again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// How often in a row a connection may fail to be made before the run is given up.
const ATTEMPTS: u32 = 20;
/// How often in a row a connection may break, while nothing was ever answered, before the run is given up.
const BREAKS: u32 = 5;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// One thread's share of a run.
pub(crate) struct Worker {
    work: Work,
    plan: Plan,
    connect: Connect,
    tap: Option<Tap>,
    far: Vec<Far>,
    bells: Bells,
    /// The bells that have rung, kept for its room.
    rung: Vec<usize>,
    /// The connections that have something to send.
    unsent: Vec<usize>,
    chunk: Vec<u8>,
    /// The connections that have places, one entry a place; the one that waits longest is used next.
    places: VecDeque<usize>,
    /// Since when there has been a place without a break.
    open_since: Instant,
    schedule: Schedule,
    is_over: bool,
    alarm: Alarm,
    /// When to look for what timed out.
    sweep: Pin<Box<Sleep>>,
    gauge: Arc<Gauge>,
    done: u64,
    was_answered: bool,
    /// Results from before the measurement began; they are discarded.
    warm_up: Tally,
    /// What it measured.
    pub(crate) tally: Tally,
}

/// One connection, and what is under way on it.
struct Far {
    link: Link,
    flights: Flights,
    /// The message that is sent over and over, as this connection carries it.
    form: Form,
    /// Times in a row that it could not be made, or broke before it carried an answer.
    failures: u32,
    /// Whether it carried an answer since it was made.
    is_proven: bool,
}

enum Link {
    Open(Line),
    Dialling(Pin<Box<dyn Future<Output = Result<Line, CallError>> + Send>>),
}

impl Worker {
    /// Connects, and is ready to begin at a moment that is given later.
    ///
    /// # Errors
    ///
    /// When one of its connections cannot be made.
    pub(crate) async fn new(
        plan: &Plan,
        thread: usize,
        work: &Work,
        connect: Connect,
        gauge: Arc<Gauge>,
        alarm: Alarm,
    ) -> Result<Worker, CallError> {
        let count = plan.share(plan.connections as u64, thread) as usize;
        let mut dials = futures_util::stream::iter((0..count).map(|_| connect())).buffered(DIALS_AT_ONCE);
        let mut far = Vec::with_capacity(count);
        while let Some(line) = dials.next().await {
            let line = line?;
            let form = line.form(&text(work, plan));
            let flights = Flights::new(plan.depth, plan.batch);
            far.push(Far { link: Link::Open(line), flights, form, failures: 0, is_proven: false });
        }
        drop(dials);
        let now = Instant::now();
        Ok(Worker {
            work: work.clone(),
            plan: plan.clone(),
            connect,
            tap: None,
            far,
            bells: Bells::new(count),
            rung: Vec::with_capacity(count),
            unsent: Vec::with_capacity(count),
            chunk: vec![0; CHUNK],
            // One place of each connection after the other, so that calls spread out.
            places: (0..plan.depth).flat_map(|_| 0..count).collect(),
            open_since: now,
            schedule: Schedule::new(plan, thread, now),
            is_over: false,
            alarm,
            sweep: Box::pin(tokio::time::sleep_until(now)),
            gauge,
            done: 0,
            was_answered: false,
            warm_up: Tally::new(),
            tally: Tally::new(),
        })
    }

    /// The same, showing what is sent and received.
    pub(crate) fn with_tap(mut self, tap: Option<Tap>) -> Worker {
        self.tap = tap;
        self
    }

    /// Makes the calls of this schedule. Dropping the future ends the run; the tally stays.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached any more, or never answers and hangs up.
    pub(crate) async fn run(&mut self, schedule: Schedule) -> Result<(), CallError> {
        self.open_since = schedule.start();
        self.schedule = schedule;
        poll_fn(|cx| self.poll(cx)).await
    }

    /// What it measured, if it is ended now.
    pub(crate) fn into_tally(mut self) -> Tally {
        let ended = self.far.iter_mut().flat_map(|far| far.flights.end_all());
        self.tally.under_way += ended.filter(|it| it.due.is_measured).map(|it| it.due.calls).sum::<u64>();
        self.tally
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.bells.wake(cx.waker());
        loop {
            let mut rung = std::mem::take(&mut self.rung);
            self.bells.take(&mut rung);
            let has_rung = !rung.is_empty();
            for number in &rung {
                self.attend(*number)?;
            }
            self.rung = rung;
            self.gauge.done.store(self.done, Ordering::Relaxed);
            self.send_due(cx);
            self.flush();
            let now = Instant::now();
            let is_idle = || self.far.iter().all(|far| far.flights.count() == 0);
            if self.is_over && (self.schedule.is_closed(now) || is_idle()) {
                (0..self.far.len()).for_each(|number| self.count_traffic(number, now));
                return Poll::Ready(Ok(()));
            }
            if self.sweep.as_mut().poll(cx).is_ready() {
                self.expire()?;
            } else if !has_rung {
                return Poll::Pending;
            }
        }
    }

    /// Sends what is due while there is a place for it.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while !self.is_over {
            let now = Instant::now();
            if self.places.is_empty() {
                // The sweep comes back here, so that a run without any place ends too.
                if self.schedule.is_over(now) {
                    self.finish(now);
                }
                return;
            }
            match self.schedule.take(now) {
                Next::Now(due) => self.send(due, now),
                Next::Later(moment) => {
                    if self.alarm.poll_at(moment, cx).is_pending() {
                        return;
                    }
                }
                Next::Over => self.finish(now),
            }
        }
    }

    fn finish(&mut self, now: Instant) {
        self.is_over = true;
        self.tally.pace.unsent += self.schedule.overdue(now);
    }

    /// Queues a message on the connection whose place waits for longest.
    fn send(&mut self, due: Due, now: Instant) {
        let Some(number) = self.places.pop_front() else { return };
        let far = &mut self.far[number];
        let Link::Open(line) = &mut far.link else { return };
        let Some(first) = far.flights.begin(due, now) else { return };
        if due.is_measured {
            self.tally.pace.note(due.at, self.open_since, now);
        }
        if due.calls == self.plan.batch as u64 {
            line.send(&far.form, first);
        } else {
            line.send(&line.form(&self.work.batch(due.calls as usize)), first);
        }
        if let Some(tap) = &self.tap {
            let text =
                if self.plan.batch == 1 { self.work.call() } else { self.work.batch(due.calls as usize) };
            let mut bytes = Vec::new();
            Form::new(text.bytes, &text.holes, 0).write(first, &mut bytes);
            tap.show(Direction::Sent, Wire::Message(&bytes));
        }
        if self.unsent.last() != Some(&number) {
            self.unsent.push(number);
        }
    }

    /// Sends what is queued.
    fn flush(&mut self) {
        while let Some(number) = self.unsent.pop() {
            if let Link::Open(line) = &mut self.far[number].link {
                line.poll_flush(&mut Context::from_waker(self.bells.bell(number)));
            }
        }
    }

    /// Looks after a connection whose bell has rung.
    fn attend(&mut self, number: usize) -> Result<(), CallError> {
        loop {
            let cx = &mut Context::from_waker(self.bells.bell(number));
            match &mut self.far[number].link {
                Link::Dialling(dial) => match dial.as_mut().poll(cx) {
                    Poll::Ready(dialled) => self.dialled(number, dialled)?,
                    Poll::Pending => return Ok(()),
                },
                Link::Open(line) => {
                    let told = line.poll_told(cx, &mut self.chunk);
                    let now = Instant::now();
                    self.count_traffic(number, now);
                    match told {
                        Poll::Ready(told) => self.hear(number, told, now)?,
                        Poll::Pending => return Ok(()),
                    }
                }
            }
        }
    }

    /// Bytes count from when measuring begins.
    fn count_traffic(&mut self, number: usize, now: Instant) {
        if let Link::Open(line) = &mut self.far[number].link {
            let traffic = line.take_traffic();
            if now >= self.schedule.measured_from() {
                self.tally.traffic.sent += traffic.sent;
                self.tally.traffic.received += traffic.received;
            }
        }
    }

    /// Adds places.
    fn open(&mut self, number: usize, count: usize, now: Instant) {
        if self.places.is_empty() {
            self.open_since = now;
        }
        self.places.extend(std::iter::repeat_n(number, count));
    }
}

/// The text of the message that is sent over and over.
fn text(work: &Work, plan: &Plan) -> Text {
    if plan.batch == 1 { work.call() } else { work.batch(plan.batch) }
}

/// Connections that break, and answers that do not come.
impl Worker {
    /// Gives a connection up, for this reason, and begins to make it again. What was under way is not answered.
    fn lose(&mut self, number: usize, kind: Kind, what: &str, now: Instant) -> Result<(), CallError> {
        self.count_traffic(number, now);
        self.places.retain(|place| *place != number);
        let lost = self.far[number].flights.end_all();
        for flight in &lost {
            self.done += flight.due.calls;
            if flight.due.is_measured {
                self.tally.fail(kind, what, flight.due.calls);
                self.gauge.errors.store(self.tally.errors, Ordering::Relaxed);
            }
        }
        let far = &mut self.far[number];
        // Who closes after an answer may be called again at once; who only closes is left alone for a while.
        far.failures += u32::from(!lost.is_empty() || !far.is_proven);
        if far.failures >= BREAKS && !self.was_answered {
            let hint = if self.plan.http2 { "; does it speak HTTP/2?" } else { "" };
            let what = format!("{what}, every time, without a single answer{hint}").into();
            return Err(match kind {
                Kind::BadAnswer => CallError::Protocol(what),
                _ => CallError::Closed(what),
            });
        }
        if self.is_over {
            // Nothing will be sent any more.
            self.far[number].link = Link::Dialling(Box::pin(std::future::pending()));
        } else {
            self.dial(number);
        }
        Ok(())
    }

    /// Begins to make a connection again, after a pause if it broke.
    fn dial(&mut self, number: usize) {
        let far = &mut self.far[number];
        let (first, most) = BACKOFF;
        let pause = far.failures.checked_sub(1).map(|times| most.min(first * 2u32.saturating_pow(times)));
        let connect = Arc::clone(&self.connect);
        far.link = Link::Dialling(Box::pin(async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            connect().await
        }));
        self.bells.bell(number).wake_by_ref();
    }

    fn dialled(&mut self, number: usize, line: Result<Line, CallError>) -> Result<(), CallError> {
        let far = &mut self.far[number];
        match line {
            Ok(line) => {
                // What a connection adds to a message may differ from one to the next.
                far.form = line.form(&text(&self.work, &self.plan));
                (far.link, far.is_proven) = (Link::Open(line), false);
                self.tally.reconnects += 1;
                self.open(number, self.plan.depth, Instant::now());
            }
            Err(error) => {
                far.failures += 1;
                if far.failures >= ATTEMPTS {
                    return Err(error);
                }
                self.dial(number);
            }
        }
        Ok(())
    }

    /// Ends what has waited too long.
    fn expire(&mut self) -> Result<(), CallError> {
        let now = Instant::now();
        let timeout = self.plan.timeout();
        let pause = (timeout / 20).clamp(Duration::from_millis(1), Duration::from_millis(100));
        self.sweep.as_mut().reset(now + pause);
        let Some(moment) = now.checked_sub(timeout) else { return Ok(()) };
        for number in 0..self.far.len() {
            let mut is_usable = true;
            for place in self.far[number].flights.sent_before(moment) {
                let far = &mut self.far[number];
                let first = far.flights.first(place);
                let Some(flight) = far.flights.end(place) else { continue };
                if let Link::Open(line) = &mut far.link {
                    is_usable &= line.forget(first);
                }
                self.done += flight.due.calls;
                if flight.due.is_measured {
                    self.tally.fail(Kind::TimedOut, "", flight.due.calls);
                    self.gauge.errors.store(self.tally.errors, Ordering::Relaxed);
                    self.tally.took(self.schedule.measured_from(), flight.due.at, now, 0);
                }
                self.open(number, 1, now);
            }
            if !is_usable {
                // The answer may still come, and would be taken for that of the next message.
                self.lose(number, Kind::ConnectionLost, "given up after a call without an answer", now)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
