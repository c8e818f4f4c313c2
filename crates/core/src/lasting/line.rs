//! Who may send, who waits and who is refused: a plain value, no runtime inside.

use std::collections::BTreeMap;

use crate::call_error::CallError;

/// The way to the far side, through all the connections it is made of one after the other.
///
/// Connections are numbered. What waits goes out in the order it came, streams first, before anything that comes later.
///
/// Nothing is dropped in here that a caller gave: it is handed out, so that no destructor runs under a lock.
pub(super) struct Line<L, W> {
    stage: Stage<L>,
    epoch: u64,
    ticket: u64,
    streams: BTreeMap<u64, W>,
    calls: BTreeMap<u64, W>,
    limit: usize,
}

enum Stage<L> {
    /// There is no connection.
    Down,
    /// There is one, and what waited is being sent over it.
    Filling(L),
    Up(L),
    /// There will be none any more.
    Over(CallError),
}

/// Which of those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A call. Only so many may wait.
    Call,
    /// A stream that comes back. As many wait as were open.
    Stream,
}

/// What becomes of something to be sent.
#[derive(Debug, PartialEq)]
pub(super) enum Admission<L> {
    /// It is sent over the connection with this number.
    Send(u64, L),
    /// It waits.
    Wait,
    /// As many wait as may.
    Full,
    /// Nothing is sent any more.
    Over(CallError),
}

impl<L: Clone, W> Line<L, W> {
    /// A line without a connection, in which `limit` calls may wait.
    pub(super) fn new(limit: usize) -> Line<L, W> {
        let (streams, calls) = (BTreeMap::new(), BTreeMap::new());
        Line { stage: Stage::Down, epoch: 0, ticket: 0, streams, calls, limit }
    }

    pub(super) fn admit(&self, place: Place) -> Admission<L> {
        match &self.stage {
            Stage::Up(link) => Admission::Send(self.epoch, link.clone()),
            Stage::Over(reason) => Admission::Over(reason.clone()),
            _ if place == Place::Call && self.calls.len() >= self.limit => Admission::Full,
            _ => Admission::Wait,
        }
    }

    /// Lets something wait that was admitted to. The ticket is for [`leave`](Line::leave).
    pub(super) fn wait(&mut self, place: Place, waiter: W) -> u64 {
        self.ticket += 1;
        let ticket = self.ticket;
        self.waiting(place).insert(ticket, waiter);
        ticket
    }

    /// Takes out what waits no more.
    pub(super) fn leave(&mut self, place: Place, ticket: u64) -> Option<W> {
        self.waiting(place).remove(&ticket)
    }

    fn waiting(&mut self, place: Place) -> &mut BTreeMap<u64, W> {
        match place {
            Place::Call => &mut self.calls,
            Place::Stream => &mut self.streams,
        }
    }

    /// There is a connection; its number. It is filled before it is up.
    pub(super) fn connect(&mut self, link: L) -> u64 {
        self.epoch += 1;
        if !matches!(self.stage, Stage::Over(_)) {
            self.stage = Stage::Filling(link);
        }
        self.epoch
    }

    /// What waited, to be sent in this order. When nothing waits any more, the connection is up, or was lost meanwhile.
    pub(super) fn fill(&mut self) -> Vec<W> {
        if !matches!(self.stage, Stage::Filling(_)) {
            return Vec::new();
        }
        let waiting = self.take_waiting();
        if waiting.is_empty()
            && let Stage::Filling(link) = std::mem::replace(&mut self.stage, Stage::Down)
        {
            self.stage = Stage::Up(link);
        }
        waiting
    }

    /// The connection with this number is lost; gives it back if it was the present one.
    pub(super) fn lose(&mut self, epoch: u64) -> Option<L> {
        if epoch != self.epoch || matches!(self.stage, Stage::Down | Stage::Over(_)) {
            return None;
        }
        self.drop_link(Stage::Down)
    }

    /// Nothing is sent any more, for this reason. Gives back what waited, and the connection.
    pub(super) fn close(&mut self, reason: CallError) -> (Vec<W>, Option<L>) {
        if matches!(self.stage, Stage::Over(_)) {
            return (Vec::new(), None);
        }
        (self.take_waiting(), self.drop_link(Stage::Over(reason)))
    }

    /// Why nothing is sent any more, if so.
    pub(super) fn is_over(&self) -> Option<&CallError> {
        match &self.stage {
            Stage::Over(reason) => Some(reason),
            _ => None,
        }
    }

    /// How much waits.
    pub(super) fn len(&self) -> usize {
        self.streams.len() + self.calls.len()
    }

    fn take_waiting(&mut self) -> Vec<W> {
        let streams = std::mem::take(&mut self.streams);
        streams.into_values().chain(std::mem::take(&mut self.calls).into_values()).collect()
    }

    fn drop_link(&mut self, next: Stage<L>) -> Option<L> {
        match std::mem::replace(&mut self.stage, next) {
            Stage::Filling(link) | Stage::Up(link) => Some(link),
            Stage::Down | Stage::Over(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(limit: usize) -> Line<&'static str, char> {
        Line::new(limit)
    }

    #[test]
    fn what_waits_goes_first_and_in_order_streams_before_calls() {
        let mut line = line(9);
        assert_eq!(line.admit(Place::Call), Admission::Wait);
        line.wait(Place::Call, 'a');
        line.wait(Place::Call, 'b');
        line.wait(Place::Stream, 's');
        assert_eq!(line.connect("one"), 1);
        assert_eq!(line.fill(), ['s', 'a', 'b']);
        // Whatever comes meanwhile must not overtake them.
        assert_eq!(line.admit(Place::Call), Admission::Wait);
        line.wait(Place::Call, 'c');
        assert_eq!(line.fill(), ['c']);
        assert_eq!(line.fill(), []);
        assert_eq!(line.admit(Place::Call), Admission::Send(1, "one"));
    }

    #[test]
    fn only_so_many_calls_wait_and_each_can_leave() {
        let mut line = line(1);
        let ticket = line.wait(Place::Call, 'a');
        assert_eq!(line.admit(Place::Call), Admission::Full);
        assert_eq!(line.admit(Place::Stream), Admission::Wait);
        assert_eq!(line.leave(Place::Call, ticket), Some('a'));
        assert_eq!(line.leave(Place::Call, ticket), None);
        assert_eq!((line.admit(Place::Call), line.len()), (Admission::Wait, 0));
    }

    #[test]
    fn a_connection_is_lost_once_and_a_late_word_of_an_old_one_does_nothing() {
        let mut line = line(9);
        line.connect("one");
        line.fill();
        assert_eq!(line.lose(1), Some("one"));
        assert_eq!(line.lose(1), None);
        line.connect("two");
        assert_eq!(line.lose(1), None);
        line.fill();
        assert_eq!(line.admit(Place::Call), Admission::Send(2, "two"));
    }

    #[test]
    fn a_connection_that_is_lost_while_it_is_filled_never_comes_up() {
        let mut line = line(9);
        line.wait(Place::Call, 'a');
        line.connect("one");
        line.fill();
        assert_eq!(line.lose(1), Some("one"));
        assert_eq!(line.fill(), []);
        assert_eq!(line.admit(Place::Call), Admission::Wait);
    }

    #[test]
    fn after_the_end_nothing_waits_and_nothing_connects() {
        let mut line = line(9);
        line.wait(Place::Call, 'a');
        assert_eq!(line.close(CallError::Cancelled), (vec!['a'], None));
        line.connect("one");
        assert_eq!(line.fill(), []);
        assert_eq!(line.admit(Place::Stream), Admission::Over(CallError::Cancelled));
        assert_eq!(line.close(CallError::TimedOut), (vec![], None));
        assert_eq!(line.is_over(), Some(&CallError::Cancelled));
    }
}
