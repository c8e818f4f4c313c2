//! Calls that are sent, waiting or rejected: a plain value without a runtime.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::call_error::CallError;

/// The queue in front of a sequence of connections.
///
/// Connections are numbered. What waits is sent in the order it came, streams first, before anything that comes later.
///
/// Values of a caller are never dropped in here but handed out, so that no destructor runs under a lock.
pub(super) struct SendQueue<L, W> {
    stage: Stage<L>,
    epoch: u64,
    ticket: u64,
    streams: BTreeMap<u64, Waiting<W>>,
    calls: BTreeMap<u64, Waiting<W>>,
    limit: usize,
}

enum Stage<L> {
    /// There is no connection. The next attempt starts at this time, if that is known.
    Down(Option<Instant>),
    /// There is a connection, and what waited is being sent over it.
    Filling(L),
    Up(L),
    /// No attempts are made, for this reason, until something new is to be sent.
    GivenUp(CallError),
    /// There will be no more connections.
    Closed(CallError),
}

struct Waiting<W> {
    waiter: W,
    terms: Terms,
}

/// How something is sent.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) lane: Lane,
    /// When its caller stops waiting.
    pub(super) deadline: Option<Instant>,
    /// Whether an earlier attempt to send it failed.
    pub(super) is_retry: bool,
}

/// Where something waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Calls. Their number is limited.
    Calls,
    /// Streams that are resubscribed. As many wait as were open.
    Streams,
}

/// What becomes of something to be sent.
#[derive(Debug, PartialEq)]
pub(super) enum Admission<L> {
    /// It is sent over the connection with this number.
    Send(u64, L),
    /// It waits.
    Wait,
    /// The queue is full.
    Full,
    /// Its caller stops waiting before the next attempt to connect.
    TooLate,
    /// It is not sent, for this reason.
    Refused(CallError),
}

impl<L: Clone, W> SendQueue<L, W> {
    /// A queue without a connection, in which `limit` calls may wait.
    pub(super) fn new(limit: usize) -> SendQueue<L, W> {
        let (streams, calls) = (BTreeMap::new(), BTreeMap::new());
        SendQueue { stage: Stage::Down(None), epoch: 0, ticket: 0, streams, calls, limit }
    }

    pub(super) fn admit(&self, terms: Terms) -> Admission<L> {
        match &self.stage {
            Stage::Up(link) => Admission::Send(self.epoch, link.clone()),
            Stage::Closed(reason) => Admission::Refused(reason.clone()),
            // What was lost had its attempts; something new gets one.
            Stage::GivenUp(reason) if terms.is_retry => Admission::Refused(reason.clone()),
            Stage::Down(Some(next)) if terms.is_over_at(*next) => Admission::TooLate,
            _ if terms.lane == Lane::Calls && self.calls.len() >= self.limit => Admission::Full,
            _ => Admission::Wait,
        }
    }

    /// Queues something that was told to [wait](Admission::Wait). The ticket is for [`leave`](SendQueue::leave).
    pub(super) fn wait(&mut self, terms: Terms, waiter: W) -> u64 {
        if matches!(self.stage, Stage::GivenUp(_)) {
            self.stage = Stage::Down(None);
        }
        self.ticket += 1;
        let ticket = self.ticket;
        self.lane(terms.lane).insert(ticket, Waiting { waiter, terms });
        ticket
    }

    /// Removes something whose caller no longer waits.
    pub(super) fn leave(&mut self, lane: Lane, ticket: u64) -> Option<W> {
        self.lane(lane).remove(&ticket).map(|waiting| waiting.waiter)
    }

    fn lane(&mut self, lane: Lane) -> &mut BTreeMap<u64, Waiting<W>> {
        match lane {
            Lane::Calls => &mut self.calls,
            Lane::Streams => &mut self.streams,
        }
    }

    /// An attempt to connect starts now.
    pub(super) fn attempt(&mut self) {
        if matches!(self.stage, Stage::Down(_)) {
            self.stage = Stage::Down(None);
        }
    }

    /// The next attempt to connect starts at this time. Returns what cannot wait that long.
    pub(super) fn postpone(&mut self, next: Instant) -> Vec<W> {
        if matches!(self.stage, Stage::Down(_)) {
            self.stage = Stage::Down(Some(next));
        }
        self.take(|terms| terms.is_over_at(next))
    }

    /// There is a connection; returns its number. It is [filled](SendQueue::fill) before it is up.
    pub(super) fn connect(&mut self, link: L) -> u64 {
        self.epoch += 1;
        if !matches!(self.stage, Stage::Closed(_)) {
            self.stage = Stage::Filling(link);
        }
        self.epoch
    }

    /// Returns what waited, to be sent in this order. When nothing waits, the connection is up, or was lost meanwhile.
    pub(super) fn fill(&mut self) -> Vec<W> {
        if !matches!(self.stage, Stage::Filling(_)) {
            return Vec::new();
        }
        let waiting = self.take(|_| true);
        if waiting.is_empty()
            && let Stage::Filling(link) = std::mem::replace(&mut self.stage, Stage::Down(None))
        {
            self.stage = Stage::Up(link);
        }
        waiting
    }

    /// The connection with this number is lost; returns it if it was the current one.
    pub(super) fn lose(&mut self, epoch: u64) -> Option<L> {
        if epoch != self.epoch || !matches!(self.stage, Stage::Filling(_) | Stage::Up(_)) {
            return None;
        }
        self.replace(Stage::Down(None))
    }

    /// No more attempts are made for what waits, or only for what is not a retry. Returns what is not sent.
    pub(super) fn give_up(&mut self, reason: CallError, only_retries: bool) -> Vec<W> {
        let refused = self.take(|terms| terms.is_retry || !only_retries);
        if self.len() == 0 && matches!(self.stage, Stage::Down(_)) {
            self.stage = Stage::GivenUp(reason);
        }
        refused
    }

    /// Nothing is sent any more, for this reason. Returns what waited, and the connection.
    pub(super) fn close(&mut self, reason: CallError) -> (Vec<W>, Option<L>) {
        if matches!(self.stage, Stage::Closed(_)) {
            return (Vec::new(), None);
        }
        (self.take(|_| true), self.replace(Stage::Closed(reason)))
    }

    /// How much waits.
    pub(super) fn len(&self) -> usize {
        self.streams.len() + self.calls.len()
    }

    /// Whether something waits that was lost before.
    pub(super) fn has_retries(&self) -> bool {
        self.streams.values().chain(self.calls.values()).any(|waiting| waiting.terms.is_retry)
    }

    fn take(&mut self, mut is_taken: impl FnMut(&Terms) -> bool) -> Vec<W> {
        let mut taken = Vec::new();
        for lane in [&mut self.streams, &mut self.calls] {
            let found = lane.iter().filter(|(_, waiting)| is_taken(&waiting.terms));
            let tickets: Vec<u64> = found.map(|(ticket, _)| *ticket).collect();
            let removed = tickets.iter().filter_map(|ticket| lane.remove(ticket));
            taken.extend(removed.map(|waiting| waiting.waiter));
        }
        taken
    }

    fn replace(&mut self, next: Stage<L>) -> Option<L> {
        match std::mem::replace(&mut self.stage, next) {
            Stage::Filling(link) | Stage::Up(link) => Some(link),
            _ => None,
        }
    }
}

impl Terms {
    fn is_over_at(&self, moment: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= moment)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CALL: Terms = Terms { lane: Lane::Calls, deadline: None, is_retry: false };
    const STREAM: Terms = Terms { lane: Lane::Streams, ..CALL };
    const RETRY: Terms = Terms { is_retry: true, ..CALL };

    fn queue(limit: usize) -> SendQueue<&'static str, char> {
        SendQueue::new(limit)
    }

    #[test]
    fn what_waits_goes_first_and_in_order_streams_before_calls() {
        let mut queue = queue(9);
        assert_eq!(queue.admit(CALL), Admission::Wait);
        queue.wait(CALL, 'a');
        queue.wait(CALL, 'b');
        queue.wait(STREAM, 's');
        assert_eq!(queue.connect("one"), 1);
        assert_eq!(queue.fill(), ['s', 'a', 'b']);
        // Whatever comes meanwhile must not overtake them.
        assert_eq!(queue.admit(CALL), Admission::Wait);
        queue.wait(CALL, 'c');
        assert_eq!(queue.fill(), ['c']);
        assert_eq!(queue.fill(), []);
        assert_eq!(queue.admit(CALL), Admission::Send(1, "one"));
    }

    #[test]
    fn only_so_many_calls_wait_and_each_can_leave() {
        let mut queue = queue(1);
        let ticket = queue.wait(CALL, 'a');
        assert_eq!(queue.admit(CALL), Admission::Full);
        assert_eq!(queue.admit(STREAM), Admission::Wait);
        assert_eq!(queue.leave(Lane::Calls, ticket), Some('a'));
        assert_eq!(queue.leave(Lane::Calls, ticket), None);
        assert_eq!((queue.admit(CALL), queue.len()), (Admission::Wait, 0));
    }

    #[test]
    fn a_connection_is_lost_once_and_late_news_of_an_old_one_does_nothing() {
        let mut queue = queue(9);
        queue.connect("one");
        queue.fill();
        assert_eq!(queue.lose(1), Some("one"));
        assert_eq!(queue.lose(1), None);
        queue.connect("two");
        assert_eq!(queue.lose(1), None);
        queue.fill();
        assert_eq!(queue.admit(CALL), Admission::Send(2, "two"));
    }

    #[test]
    fn a_connection_that_is_lost_while_it_is_filled_never_comes_up() {
        let mut queue = queue(9);
        queue.wait(CALL, 'a');
        queue.connect("one");
        queue.fill();
        assert_eq!(queue.lose(1), Some("one"));
        assert_eq!(queue.fill(), []);
        assert_eq!(queue.admit(CALL), Admission::Wait);
    }

    #[test]
    fn what_cannot_wait_for_the_next_attempt_does_not_wait() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let until = |seconds: u32| Terms { deadline: Some(now + seconds * second), ..CALL };
        let mut queue = queue(9);
        queue.wait(until(1), 'a');
        queue.wait(until(5), 'b');
        queue.wait(CALL, 'c');
        assert_eq!(queue.postpone(now + 3 * second), ['a']);
        assert_eq!(queue.admit(until(3)), Admission::TooLate);
        assert_eq!(queue.admit(until(4)), Admission::Wait);
        assert_eq!(queue.admit(CALL), Admission::Wait);
        queue.attempt();
        assert_eq!(queue.admit(until(3)), Admission::Wait);
    }

    #[test]
    fn after_giving_up_what_was_lost_is_refused_and_what_is_new_waits() {
        let mut queue = queue(9);
        queue.wait(CALL, 'a');
        queue.wait(RETRY, 'b');
        assert!(queue.has_retries());
        assert_eq!(queue.give_up(CallError::TimedOut, true), ['b']);
        assert!(!queue.has_retries());
        // Attempts go on for what is new.
        assert_eq!(queue.admit(RETRY), Admission::Wait);
        assert_eq!(queue.give_up(CallError::TimedOut, false), ['a']);
        assert_eq!(queue.admit(RETRY), Admission::Refused(CallError::TimedOut));
        assert_eq!(queue.admit(CALL), Admission::Wait);
        queue.wait(CALL, 'c');
        assert_eq!(queue.admit(RETRY), Admission::Wait);
    }

    #[test]
    fn after_the_end_nothing_waits_and_nothing_connects() {
        let mut queue = queue(9);
        queue.wait(CALL, 'a');
        assert_eq!(queue.close(CallError::Cancelled), (vec!['a'], None));
        queue.connect("one");
        assert_eq!(queue.fill(), []);
        assert_eq!(queue.admit(STREAM), Admission::Refused(CallError::Cancelled));
        assert_eq!(queue.close(CallError::TimedOut), (vec![], None));
        assert_eq!(queue.give_up(CallError::TimedOut, false), []);
        assert_eq!(queue.admit(CALL), Admission::Refused(CallError::Cancelled));
    }
}
