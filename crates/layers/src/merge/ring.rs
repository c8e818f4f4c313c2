//! The last items of a stream, for readers that are not equally far.
//!
//! All readers share one buffer, so a reader that never reads costs no more than one that does. Every item has a position, and so has every
//! item that is known to be lost before it arrives here; a break, where an unknown number of items is lost, takes one position. So a reader
//! that finds a later position than its own has lost what is in between, for whatever reason.

use std::collections::VecDeque;

use switchboard_core::{ErrorObject, Gap, GapReason, Json};

/// What an item takes beside its text.
const OVERHEAD: usize = size_of::<Slot>();

/// The items that some reader has not read yet, within limits.
#[derive(Debug)]
pub(super) struct Ring {
    slots: VecDeque<Slot>,
    /// The position of the next item.
    next: u64,
    /// The last break after the last item.
    break_after: Option<u64>,
    /// The last break among those that were dropped.
    break_dropped: Option<u64>,
    readers: usize,
    bytes: usize,
    limits: RingLimits,
    end: Option<End>,
}

/// How much is kept for readers that are behind. The last item is kept in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingLimits {
    pub(super) items: usize,
    pub(super) bytes: usize,
}

/// How a stream ended.
pub(super) type End = Result<(), ErrorObject>;

#[derive(Debug)]
struct Slot {
    at: u64,
    /// The last break between the item before and this one.
    break_before: Option<u64>,
    item: Json,
    /// How many readers have not read it.
    left: usize,
}

/// The place of a reader: the position that it reads next.
#[derive(Debug)]
pub(super) struct Place(u64);

/// What a reader finds.
#[derive(Debug)]
pub(super) enum Read {
    Item(Json),
    Gap(Gap),
    End(End),
}

impl Ring {
    pub(super) fn new(limits: RingLimits) -> Ring {
        Ring {
            slots: VecDeque::new(),
            next: 0,
            break_after: None,
            break_dropped: None,
            readers: 0,
            bytes: 0,
            limits,
            end: None,
        }
    }

    /// Adds a reader, which gets everything from now on. It has to [leave](Ring::leave).
    pub(super) fn join(&mut self) -> Place {
        self.readers += 1;
        Place(self.next)
    }

    pub(super) fn leave(&mut self, place: &Place) {
        self.readers -= 1;
        let unread = self.index_of(place);
        self.slots.iter_mut().skip(unread).for_each(|slot| slot.left -= 1);
        self.drop_read();
    }

    pub(super) fn push(&mut self, item: Json) {
        let (at, break_before) = (self.next, self.break_after.take());
        self.next += 1;
        self.bytes += OVERHEAD + item.as_bytes().len();
        self.slots.push_back(Slot { at, break_before, item, left: self.readers });
        while self.slots.len() > self.limits.items.max(1)
            || (self.bytes > self.limits.bytes && self.slots.len() > 1)
        {
            self.drop_first();
        }
        self.drop_read();
    }

    /// Notes that items are lost for all.
    pub(super) fn push_gap(&mut self, gap: Gap) {
        match (gap.lost, gap.reason) {
            (Some(lost), GapReason::Overflow) => self.next += lost,
            _ => {
                self.break_after = Some(self.next);
                self.next += 1;
            }
        }
    }

    pub(super) fn end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// What a reader has not seen yet. None if it has seen everything so far.
    pub(super) fn read(&mut self, place: &mut Place) -> Option<Read> {
        let index = self.index_of(place);
        let slot = self.slots.get_mut(index);
        let (at, last_break) = match &slot {
            Some(slot) => (slot.at, slot.break_before),
            None => (self.next, self.break_after),
        };
        if at > place.0 {
            let is_unknown = last_break.max(self.break_dropped) >= Some(place.0);
            let gap = if is_unknown { Gap::reconnected() } else { Gap::overflow(at - place.0) };
            place.0 = at;
            return Some(Read::Gap(gap));
        }
        let Some(slot) = slot else { return self.end.clone().map(Read::End) };
        place.0 += 1;
        slot.left -= 1;
        let item = slot.item.clone();
        self.drop_read();
        Some(Read::Item(item))
    }

    /// The bytes that are kept.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn index_of(&self, place: &Place) -> usize {
        // Most readers have read all but the last item, or all.
        match self.slots.back() {
            Some(last) if last.at >= place.0 => self.slots.partition_point(|slot| slot.at < place.0),
            _ => self.slots.len(),
        }
    }

    /// Drops what all readers have read.
    fn drop_read(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.left == 0) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(slot) = self.slots.pop_front() {
            self.bytes -= OVERHEAD + slot.item.as_bytes().len();
            self.break_dropped = self.break_dropped.max(slot.break_before);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Lose(u64),
        Break,
        Join,
        Leave(prop::sample::Index),
        Read(prop::sample::Index, usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let index = any::<prop::sample::Index>;
        let step = prop_oneof![
            6 => Just(Step::Push),
            1 => (1..4_u64).prop_map(Step::Lose),
            1 => Just(Step::Break),
            2 => Just(Step::Join),
            1 => index().prop_map(Step::Leave),
            6 => (index(), 1..5_usize).prop_map(|(reader, count)| Step::Read(reader, count)),
        ];
        prop::collection::vec(step, 1..200)
    }

    /// What was sent: an item with its number, a known loss of one item, or a break.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Sent {
        Item(u64),
        Lost,
        Broken,
    }

    struct Reader {
        place: Place,
        /// Where it is in what was sent.
        at: usize,
    }

    /// Reads once, and checks that nothing is missing without a gap. False if there is nothing.
    fn read(ring: &mut Ring, sent: &[Sent], reader: &mut Reader) -> bool {
        match ring.read(&mut reader.place) {
            None => {
                assert_eq!(reader.at, sent.len(), "everything was told");
                return false;
            }
            Some(Read::Item(item)) => {
                assert_eq!(sent[reader.at], Sent::Item(item.decode().unwrap()), "items come in order");
                reader.at += 1;
            }
            Some(Read::Gap(gap)) => {
                // It covers everything up to an item or the end.
                let from = reader.at;
                let count = match gap.lost {
                    Some(lost) => usize::try_from(lost).unwrap(),
                    None => {
                        let next = ring.slots.get(ring.index_of(&reader.place)).map(|slot| &slot.item);
                        let next = next.map(|item| Sent::Item(item.decode().unwrap()));
                        next.map_or(sent.len(), |next| sent.iter().position(|one| *one == next).unwrap())
                            - from
                    }
                };
                let lost = &sent[from..from + count];
                assert!(!lost.is_empty());
                assert_eq!(gap.lost.is_none(), lost.contains(&Sent::Broken), "{lost:?}");
                reader.at += count;
            }
            Some(Read::End(_)) => panic!("it has not ended"),
        }
        true
    }

    proptest! {
        #[test]
        fn every_reader_gets_every_item_in_order_or_a_gap_in_its_place(steps in steps(), items in 1..6_usize) {
            let limits = RingLimits { items, bytes: 3 * OVERHEAD };
            let mut ring = Ring::new(limits);
            let (mut sent, mut readers) = (Vec::new(), Vec::<Reader>::new());
            for step in steps {
                match step {
                    Step::Push => {
                        let number = sent.len() as u64;
                        sent.push(Sent::Item(number));
                        ring.push(Json::encode(&number).unwrap());
                    }
                    Step::Lose(count) => {
                        sent.extend((0..count).map(|_| Sent::Lost));
                        ring.push_gap(Gap::overflow(count));
                    }
                    Step::Break => {
                        sent.push(Sent::Broken);
                        ring.push_gap(Gap::reconnected());
                    }
                    Step::Join => readers.push(Reader { place: ring.join(), at: sent.len() }),
                    Step::Leave(which) if !readers.is_empty() => {
                        let reader = readers.swap_remove(which.index(readers.len()));
                        ring.leave(&reader.place);
                    }
                    Step::Read(which, count) if !readers.is_empty() => {
                        let reader = which.index(readers.len());
                        for _ in 0..count {
                            read(&mut ring, &sent, &mut readers[reader]);
                        }
                    }
                    Step::Leave(_) | Step::Read(..) => {}
                }
                prop_assert!(ring.slots.len() <= items && ring.bytes() <= limits.bytes.max(OVERHEAD + 20));
            }
            for reader in &mut readers {
                while read(&mut ring, &sent, reader) {}
            }
            // Nothing is kept that all have read.
            prop_assert_eq!((ring.slots.len(), ring.bytes()), (0, 0));
        }
    }

    #[test]
    fn the_end_comes_after_everything_else() {
        let mut ring = Ring::new(RingLimits { items: 2, bytes: 1000 });
        let (mut reader, mut other) = (ring.join(), ring.join());
        ring.push(Json::TRUE);
        ring.push_gap(Gap::overflow(2));
        ring.end(Err(ErrorObject::timed_out()));
        ring.end(Ok(()));
        for reader in [&mut reader, &mut other] {
            assert!(matches!(ring.read(reader), Some(Read::Item(_))));
            assert!(matches!(ring.read(reader), Some(Read::Gap(gap)) if gap == Gap::overflow(2)));
            assert!(matches!(ring.read(reader), Some(Read::End(Err(_)))));
        }
    }
}
