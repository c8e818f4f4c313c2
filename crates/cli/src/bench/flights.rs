//! What is under way on one connection: a plain value that knows which answer belongs to which message.

use tokio::time::Instant;

use super::form::{COUNT, FIRST};
use super::schedule::Due;

/// The messages under way on one connection.
#[derive(Debug)]
pub(crate) struct Flights {
    /// One for each place.
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Identifiers that each message takes: as many as a full batch has calls.
    each: u32,
    /// How often each place can be used before identifiers come again.
    turns: u32,
}

#[derive(Debug)]
struct Slot {
    turn: u32,
    flight: Option<Flight>,
}

/// A message under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) due: Due,
    pub(crate) sent: Instant,
    /// The stream that was answered, whose items are read until its end.
    pub(crate) stream: Option<Stream>,
}

/// A stream that is being read.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its identifier, as it is written.
    pub(crate) id: Vec<u8>,
    pub(crate) items: u64,
}

impl Flights {
    /// None, and places for so many, each of up to `batch` calls.
    pub(crate) fn new(places: usize, batch: usize) -> Flights {
        let each = u32::try_from(batch).unwrap_or(u32::MAX);
        let ids = each.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX));
        Flights {
            slots: (0..places).map(|_| Slot { turn: 0, flight: None }).collect(),
            free: (0..places).rev().collect(),
            each,
            turns: (COUNT / ids.max(1)).max(1),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins a flight. Gives its first identifier, unless every place is taken.
    pub(crate) fn begin(&mut self, due: Due, sent: Instant) -> Option<u32> {
        let place = self.free.pop()?;
        let slot = &mut self.slots[place];
        slot.turn = (slot.turn + 1) % self.turns;
        slot.flight = Some(Flight { due, sent, stream: None });
        Some(self.first(place))
    }

    /// The place of the flight that has this identifier, and which of its calls it is.
    pub(crate) fn find(&self, id: u32) -> Option<(usize, usize)> {
        let number = id.checked_sub(FIRST)?;
        let (message, call) = (number / self.each, number % self.each);
        let places = u32::try_from(self.slots.len()).ok()?;
        let (turn, place) = (message / places, (message % places) as usize);
        let slot = &self.slots[place];
        let flight = slot.flight.as_ref().filter(|_| slot.turn == turn)?;
        (u64::from(call) < flight.due.calls).then_some((place, call as usize))
    }

    /// The place of the flight that is under way for longest.
    pub(crate) fn oldest(&self) -> Option<usize> {
        let taken = self.slots.iter().enumerate();
        let taken = taken.filter_map(|(place, slot)| Some((slot.flight.as_ref()?.sent, place)));
        taken.min().map(|(_, place)| place)
    }

    /// The places of flights that were sent before this moment.
    pub(crate) fn sent_before(&self, moment: Instant) -> Vec<usize> {
        let is_late = |slot: &Slot| slot.flight.as_ref().is_some_and(|flight| flight.sent <= moment);
        self.slots.iter().enumerate().filter(|(_, slot)| is_late(slot)).map(|(place, _)| place).collect()
    }

    /// The flight at this place.
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Flight> {
        self.slots[place].flight.as_mut()
    }

    /// The place of the flight that reads this stream.
    pub(crate) fn reading(&self, id: &[u8]) -> Option<usize> {
        let reads = |slot: &Slot| {
            let stream = slot.flight.as_ref().and_then(|flight| flight.stream.as_ref());
            stream.is_some_and(|stream| stream.id == id)
        };
        self.slots.iter().position(reads)
    }

    /// The first identifier of the message at this place.
    pub(crate) fn first(&self, place: usize) -> u32 {
        let places = self.slots.len() as u32;
        FIRST + (self.slots[place].turn * places + place as u32) * self.each
    }

    /// Ends the flight at this place.
    pub(crate) fn end(&mut self, place: usize) -> Option<Flight> {
        let flight = self.slots[place].flight.take()?;
        self.free.push(place);
        Some(flight)
    }

    /// Ends all flights.
    pub(crate) fn end_all(&mut self) -> Vec<Flight> {
        (0..self.slots.len()).filter_map(|place| self.end(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(calls: u64) -> Due {
        Due { at: Instant::now(), calls, is_measured: true }
    }

    #[test]
    fn answers_find_their_messages_in_any_order() {
        let mut flights = Flights::new(3, 10);
        let now = Instant::now();
        let ids: Vec<u32> = std::iter::from_fn(|| flights.begin(due(10), now)).collect();
        assert_eq!((ids.len(), flights.count()), (3, 3));
        for id in ids.iter().rev() {
            let (place, call) = flights.find(id + 9).unwrap();
            assert_eq!((flights.first(place), call), (*id, 9));
            assert!(flights.end(place).is_some());
            assert_eq!(flights.find(*id), None, "it is over");
        }
        // What comes late for an earlier message is for none of those under way now.
        assert!(flights.begin(due(10), now).is_some());
        assert!(ids.iter().all(|id| flights.find(*id).is_none()));
    }

    #[test]
    fn identifiers_are_for_the_calls_of_a_message_only() {
        let mut flights = Flights::new(2, 10);
        let first = flights.begin(due(4), Instant::now()).unwrap();
        assert!(flights.find(first + 3).is_some());
        assert!(flights.find(first + 4).is_none());
        assert_eq!((flights.find(0), flights.find(u32::MAX)), (None, None));
    }

    #[test]
    fn identifiers_never_have_more_digits_and_come_again_after_long() {
        let mut flights = Flights::new(1, 450_000_000);
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(flights.begin(due(1), Instant::now()).unwrap());
            assert!(flights.end(0).is_some());
        }
        assert_eq!(ids, [550_000_000, 100_000_000, 550_000_000, 100_000_000]);
    }
}
