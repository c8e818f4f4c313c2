//! Calls waiting for their responses: a plain value without a runtime.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::id::Id;

/// What was sent and not answered yet, by identifier.
///
/// Identifiers only go up, so that a late answer can never be taken for that of a newer call (J2-22).
pub(crate) struct Pending<W> {
    last: u64,
    /// The identifiers are ours, so that no peer can choose them to collide.
    waiting: HashMap<u64, Entry<W>, FixedState>,
}

struct Entry<W> {
    /// The frame it went out in: the identifier of its first call.
    frame: u64,
    waiter: W,
}

impl<W> Pending<W> {
    pub(crate) fn new() -> Pending<W> {
        Pending { last: 0, waiting: HashMap::default() }
    }

    /// The identifier that the next call gets.
    pub(crate) fn next_id(&self) -> u64 {
        self.last + 1
    }

    /// An identifier for a call whose answer is not waited for: it is dropped like that of an unknown call.
    pub(crate) fn skip_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// What waits for the answer to this call.
    pub(crate) fn waiter(&self, id: u64) -> Option<&W> {
        self.waiting.get(&id).map(|entry| &entry.waiter)
    }

    /// Adds a call that goes out in the frame which began with the call `frame`.
    pub(crate) fn insert(&mut self, frame: u64, waiter: W) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, Entry { frame, waiter });
        self.last
    }

    /// The call that a response with this identifier answers. A string is never the number in it (J2-16).
    pub(crate) fn complete(&mut self, id: &Id) -> Option<W> {
        self.remove(id.as_u64()?)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<W> {
        self.waiting.remove(&id).map(|entry| entry.waiter)
    }

    /// Whether something waits of which this holds.
    pub(crate) fn any(&self, holds: impl Fn(&W) -> bool) -> bool {
        self.waiting.values().any(|entry| holds(&entry.waiter))
    }

    /// The calls that an error without an identifier must be about: all that wait, if they went out in one frame
    /// (J2-68, J2-71).
    pub(crate) fn complete_only_frame(&mut self) -> Vec<W> {
        let mut frames = self.waiting.values().map(|entry| entry.frame);
        let first = frames.next();
        if frames.all(|frame| Some(frame) == first) { self.drain() } else { Vec::new() }
    }

    /// Everything that waits, when the connection has ended.
    pub(crate) fn drain(&mut self) -> Vec<W> {
        self.waiting.drain().map(|(_, entry)| entry.waiter).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_finds_its_call_once() {
        let mut pending = Pending::new();
        let frame = pending.next_id();
        let first = pending.insert(frame, "first");
        let second = pending.insert(pending.next_id(), "second");
        assert_eq!(pending.complete(&Id::from(second)), Some("second"));
        assert_eq!(pending.complete(&Id::from(second)), None);
        assert_eq!(pending.complete(&Id::from("1")), None);
        assert_eq!(pending.complete(&Id::from(first)), Some("first"));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn identifiers_are_never_used_again() {
        // J2-22
        let mut pending = Pending::new();
        let first = pending.insert(1, ());
        pending.remove(first);
        assert!(pending.insert(2, ()) > first);
    }

    #[test]
    fn an_error_without_an_identifier_is_about_the_only_frame_that_waits() {
        // J2-68, J2-71
        let mut pending = Pending::new();
        let frame = pending.next_id();
        pending.insert(frame, 'a');
        pending.insert(frame, 'b');
        let mut both = pending.complete_only_frame();
        both.sort_unstable();
        assert_eq!(both, ['a', 'b']);
        pending.insert(pending.next_id(), 'c');
        pending.insert(pending.next_id(), 'd');
        assert_eq!(pending.complete_only_frame(), []);
        assert_eq!(pending.len(), 2);
    }
}
