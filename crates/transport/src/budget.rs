//! A bound on the memory that long messages of all connections of a server take together.
//!
//! Each message has a limit, and there is a limit on connections; their product is more memory than a machine may have. So long
//! messages are counted while they arrive and for as long as any part of them is in use. Short ones are not, so they cost
//! nothing: they add up to the number of connections times [`FREE`] at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

/// A message of up to this many bytes is not counted.
pub(crate) const FREE: usize = 64 << 10;

/// How many bytes may still be taken.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

/// The memory that one message takes of a server's budget ([`ServerOptions::buffers`](crate::server::ServerOptions::buffers)).
///
/// Dropping it gives the memory back. Messages of up to 64 KiB are not counted. The default has no budget and covers anything.
#[derive(Debug, Default)]
pub struct Share {
    budget: Option<Arc<Budget>>,
    taken: usize,
}

/// A message and its share.
struct Sealed {
    bytes: Bytes,
    _share: Share,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Arc<Budget> {
        Arc::new(Budget { left: AtomicUsize::new(bytes) })
    }

    fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

impl Share {
    /// An empty share of this budget, if there is one.
    pub(crate) fn of(budget: Option<&Arc<Budget>>) -> Share {
        Share { budget: budget.cloned(), taken: 0 }
    }

    /// Covers a message of so many bytes, as far as it is known by now; false if the budget has no room for it.
    #[inline]
    pub fn cover(&mut self, bytes: usize) -> bool {
        bytes <= FREE || bytes <= self.taken || self.grow(bytes)
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let Some(budget) = &self.budget else { return true };
        let is_there = budget.take(bytes - self.taken);
        if is_there {
            self.taken = bytes;
        }
        is_there
    }

    /// Ties the memory to the message: it is given back when the last part of the message is dropped.
    #[inline]
    pub fn seal(&mut self, bytes: Bytes) -> Bytes {
        if self.taken == 0 {
            return bytes;
        }
        let taken = std::mem::take(&mut self.taken);
        Bytes::from_owner(Sealed { bytes, _share: Share { budget: self.budget.clone(), taken } })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(budget) = self.budget.as_ref().filter(|_| self.taken > 0) {
            budget.left.fetch_add(self.taken, Relaxed);
        }
    }
}

impl AsRef<[u8]> for Sealed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_are_not_counted_and_long_ones_are_up_to_the_last_byte() {
        let budget = Budget::new(3 * FREE);
        let share = || Share::of(Some(&budget));
        let (mut one, mut other) = (share(), share());
        assert!(one.cover(2 * FREE) && other.cover(FREE));
        assert!(!other.cover(FREE + 1 + FREE), "a share does not grow beyond what is left");
        assert!(one.cover(FREE) && one.cover(3 * FREE), "what is covered stays so, and can grow");
        assert!(!other.cover(FREE + 1) && other.cover(FREE));
        drop(one);
        assert!(other.cover(3 * FREE));
    }

    #[test]
    fn a_share_goes_back_with_the_last_part_of_its_message() {
        let budget = Budget::new(2 * FREE);
        let mut share = Share::of(Some(&budget));
        assert!(share.cover(2 * FREE));
        let message = share.seal(Bytes::from(vec![b'x'; 2 * FREE]));
        let part = message.slice(5..7);
        drop((message, share));
        assert!(!Share::of(Some(&budget)).cover(FREE + 1));
        assert_eq!(part, "xx");
        drop(part);
        assert!(Share::of(Some(&budget)).cover(2 * FREE));
    }

    #[test]
    fn without_a_budget_everything_is_covered() {
        let mut share = Share::default();
        assert!(share.cover(usize::MAX));
        let text = Bytes::from(vec![b'x'; 100]);
        assert_eq!(share.seal(text.clone()).as_ptr(), text.as_ptr());
    }
}
