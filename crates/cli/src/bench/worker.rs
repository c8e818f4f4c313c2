//! One thread's share of a run: its connections, what is under way on them, and its tally.
//!
//! A worker is one future that is polled by one thread. It sends what is due while there is a place for it, and takes
//! note of what comes back. Nothing on this path is shared with another thread.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, StreamExt};
use switchboard::{Call, CallError, Json, Peer, Remote, Service};
use tokio::time::{Instant, Sleep};

use super::alarm::Alarm;
use super::flight::{Flight, Landed, Ticket};
use super::plan::Plan;
use super::schedule::{Due, Next, Schedule};
use super::tally::Tally;

/// Makes connections to whatever is measured.
pub(crate) type Connect =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>> + Send + Sync>;

/// The call that is made over and over.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
}

/// How far a worker is, for whoever shows it. Only the worker writes it.
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

/// One thread's share of a run.
pub(crate) struct Worker {
    call: Call,
    params_bytes: u64,
    batch: usize,
    timeout: Duration,
    depth: usize,
    connect: Connect,
    connections: Vec<Connection>,
    /// The connections that have places, one entry a place; the one that waits longest is used next.
    places: VecDeque<usize>,
    /// Since when there has been a place without a break.
    open_since: Instant,
    flights: FuturesUnordered<Flight>,
    schedule: Schedule,
    is_over: bool,
    alarm: Alarm,
    /// When to look for what timed out.
    sweep: Pin<Box<Sleep>>,
    gauge: Arc<Gauge>,
    done: u64,
    was_answered: bool,
    /// What came before measuring began; nobody reads it.
    warm_up: Tally,
    /// What it measured.
    pub(crate) tally: Tally,
}

/// One connection.
struct Connection {
    /// The far side, unless the connection is being made.
    peer: Option<Peer>,
    /// Counts the times it was made, so that what belonged to an earlier one can be told apart.
    generation: u32,
    /// Messages under way on it, in this or an earlier generation.
    under_way: usize,
    failures: u32,
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
        let mut connections = Vec::with_capacity(count);
        while let Some(peer) = dials.next().await {
            connections.push(Connection { peer: Some(peer?), generation: 0, under_way: 0, failures: 0 });
        }
        drop(dials);
        let now = Instant::now();
        Ok(Worker {
            call: Call::new(work.method.as_str(), work.params.clone()),
            params_bytes: work.params.as_ref().map_or(0, |params| params.as_bytes().len() as u64),
            batch: plan.batch,
            timeout: plan.timeout(),
            depth: plan.depth,
            connect,
            // One place of each connection after the other, so that calls spread out.
            places: (0..plan.depth).flat_map(|_| 0..count).collect(),
            connections,
            open_since: now,
            flights: FuturesUnordered::new(),
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

    /// Makes the calls of this schedule. Dropping the future ends the run; the tally stays.
    ///
    /// # Errors
    ///
    /// When the far side cannot be reached, and never could.
    pub(crate) async fn run(&mut self, schedule: Schedule) -> Result<(), CallError> {
        self.open_since = schedule.start();
        self.schedule = schedule;
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        loop {
            while let Poll::Ready(Some((ticket, landed))) = Pin::new(&mut self.flights).poll_next(cx) {
                if let Err(error) = self.land(ticket, landed) {
                    return Poll::Ready(Err(error));
                }
            }
            self.gauge.done.store(self.done, Ordering::Relaxed);
            let has_sent = self.send_due(cx);
            if self.is_over && self.flights.iter().all(Flight::is_dial) {
                return Poll::Ready(Ok(()));
            }
            if self.sweep.as_mut().poll(cx).is_ready() {
                self.expire();
            } else if !has_sent {
                return Poll::Pending;
            }
            // What was sent must be polled once, to wake this task.
        }
    }

    /// Sends what is due while there is a place for it. Tells whether anything was sent.
    fn send_due(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_sent = false;
        while !self.is_over {
            let now = Instant::now();
            if self.places.is_empty() {
                // The sweep comes back here, so that a run without any place ends too.
                if self.schedule.is_past(now) {
                    self.finish(now);
                }
                return has_sent;
            }
            match self.schedule.take(now) {
                Next::Now(due) => {
                    self.send(due, now);
                    has_sent = true;
                }
                Next::Later(moment) => {
                    if self.alarm.poll_at(moment, cx).is_pending() {
                        return has_sent;
                    }
                }
                Next::Over => self.finish(now),
            }
        }
        has_sent
    }

    fn finish(&mut self, now: Instant) {
        self.is_over = true;
        self.tally.pace.unsent += self.schedule.overdue(now);
    }

    fn send(&mut self, due: Due, now: Instant) {
        let Some(connection) = self.places.pop_front() else { return };
        let far = &mut self.connections[connection];
        let Some(peer) = &far.peer else { return };
        if due.is_measured {
            self.tally.pace.note(due.at, self.open_since, now);
            self.tally.sent += due.calls * self.params_bytes;
        }
        let ticket = Ticket::Message { connection, generation: far.generation, due, sent: now };
        far.under_way += 1;
        self.flights.push(match self.batch {
            1 => Flight::call(ticket, Service::call(peer, &self.call)),
            _ => Flight::batch(ticket, Remote::batch(peer, vec![self.call.clone(); due.calls as usize])),
        });
    }

    /// Takes note of how something ended.
    fn land(&mut self, ticket: Ticket, landed: Landed) -> Result<(), CallError> {
        let (connection, generation, due) = match ticket {
            Ticket::Message { connection, generation, due, .. } => (connection, generation, due),
            Ticket::Dial { connection } => {
                let Landed::Dialled(peer) = landed else { return Ok(()) };
                return self.dialled(connection, peer);
            }
        };
        let now = Instant::now();
        let fault = self.note(due, landed, now);
        self.done += due.calls;
        self.was_answered |= fault.is_none();
        self.free(connection, generation, now);
        match fault {
            Some(error @ CallError::Unreachable(_)) if !self.was_answered => return Err(error),
            Some(CallError::Unreachable(_) | CallError::Closed(_)) => {
                let far = &self.connections[connection];
                if generation == far.generation && far.peer.is_some() {
                    self.lose(connection);
                }
            }
            _ => self.connections[connection].failures = 0,
        }
        Ok(())
    }

    /// Notes what came of a message. Gives why no answer came, if none did.
    fn note(&mut self, due: Due, landed: Landed, now: Instant) -> Option<CallError> {
        let tally = if due.is_measured { &mut self.tally } else { &mut self.warm_up };
        let fault = match landed {
            Landed::Reply(reply) => tally.reply(reply),
            Landed::Batch(replies) => replies.into_iter().fold(None, |fault, reply| {
                let found = tally.reply(reply);
                fault.or(found)
            }),
            Landed::Stream { items, bytes, fault } => {
                tally.items += items;
                tally.received += bytes;
                tally.results += u64::from(fault.is_none());
                fault.and_then(|fault| tally.failure(fault))
            }
            Landed::Dialled(_) => None,
        };
        if due.is_measured {
            if fault.is_none() {
                self.tally.took(self.schedule.measured_from(), due.at, now, due.calls);
            }
            self.gauge.errors.store(self.tally.errors, Ordering::Relaxed);
        }
        fault
    }

    /// Gives a place back, if its connection still stands.
    fn free(&mut self, connection: usize, generation: u32, now: Instant) {
        let far = &mut self.connections[connection];
        far.under_way -= 1;
        if generation == far.generation && far.peer.is_some() {
            self.open(connection, 1, now);
        }
    }

    /// Adds places.
    fn open(&mut self, connection: usize, count: usize, now: Instant) {
        if self.places.is_empty() {
            self.open_since = now;
        }
        self.places.extend(std::iter::repeat_n(connection, count));
    }
}

/// Connections that break, and answers that do not come.
impl Worker {
    /// Gives a connection up and begins to make it again.
    fn lose(&mut self, connection: usize) {
        self.places.retain(|place| *place != connection);
        let far = &mut self.connections[connection];
        far.peer = None;
        far.failures += 1;
        let (first, most) = BACKOFF;
        let pause = most.min(first * 2u32.saturating_pow(far.failures - 1));
        let connect = Arc::clone(&self.connect);
        self.flights.push(Flight::dial(connection, async move {
            tokio::time::sleep(pause).await;
            connect().await
        }));
    }

    fn dialled(&mut self, connection: usize, peer: Result<Peer, CallError>) -> Result<(), CallError> {
        let far = &mut self.connections[connection];
        match peer {
            Ok(peer) => {
                far.peer = Some(peer);
                far.generation += 1;
                self.tally.reconnects += 1;
                let places = self.depth - far.under_way.min(self.depth);
                self.open(connection, places, Instant::now());
            }
            Err(error) if far.failures >= ATTEMPTS => return Err(error),
            Err(_) => self.lose(connection),
        }
        Ok(())
    }

    /// Ends what has waited too long.
    fn expire(&mut self) {
        let now = Instant::now();
        let pause = (self.timeout / 20).clamp(Duration::from_millis(1), Duration::from_millis(100));
        self.sweep.as_mut().reset(now + pause);
        let is_late = |flight: &Flight| match flight.ticket {
            Ticket::Message { sent, .. } => now.saturating_duration_since(sent) >= self.timeout,
            Ticket::Dial { .. } => false,
        };
        if !self.flights.iter().any(is_late) {
            return;
        }
        let (late, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.flights).into_iter().partition(is_late);
        self.flights.extend(rest);
        for flight in late {
            if let Ticket::Message { connection, generation, due, .. } = flight.ticket {
                // Dropping it cancels the call on the far side.
                drop(flight);
                self.done += due.calls;
                if due.is_measured {
                    for _ in 0..due.calls {
                        self.tally.failure(CallError::TimedOut);
                    }
                    self.gauge.errors.store(self.tally.errors, Ordering::Relaxed);
                    self.tally.took(self.schedule.measured_from(), due.at, now, 0);
                }
                self.free(connection, generation, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
