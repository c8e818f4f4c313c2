//! The memory used by messages: bounded for each connection, and for all connections of a server together.
//!
//! Each message has a limit, and so has the number of connections, but their product may exceed the memory of the machine. So a
//! server has one [`Budget`]. Each connection has an [`Account`] with 64 KiB that it never has to ask for, and takes
//! what it needs beyond that from the budget: requests while they arrive and as long as any part of them is in use, responses
//! until they are sent.
//!
//! Incoming messages are rejected if the budget has no room ([`Share::cover`]). For outgoing ones, the engine asks before it writes a
//! reply ([`Account::has_room`]), and always counts what it wrote ([`Share::set`]): so the budget can be exceeded by the replies
//! written at one moment, one for each thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

/// What the messages of one connection may take without being counted against the budget.
const FREE: usize = 64 << 10;

/// A message of up to this many bytes is not counted, where a connection carries many at once.
pub(crate) const SHORT: usize = 4 << 10;

/// How many bytes the messages of all connections of a server may use together.
#[derive(Debug)]
pub struct Budget {
    /// Below zero for moments, when several replies are written at once.
    left: AtomicIsize,
}

/// The memory used by the messages of one connection.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    held: AtomicUsize,
    /// Messages of up to this many bytes are not counted.
    short: usize,
}

/// The memory that one message, or one queue of messages, uses of an [`Account`].
///
/// Dropping it gives the memory back. The default has no account and covers anything.
#[derive(Debug, Default)]
pub struct Share {
    account: Option<Arc<Account>>,
    taken: usize,
}

/// A message and its share.
struct Sealed {
    bytes: Bytes,
    _share: Share,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Budget> {
        Arc::new(Budget { left: AtomicIsize::new(isize::try_from(bytes).unwrap_or(isize::MAX)) })
    }

    fn has(&self, bytes: usize) -> bool {
        let left = self.left.load(Relaxed);
        usize::try_from(left).is_ok_and(|left| left >= bytes)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let Ok(bytes) = isize::try_from(bytes) else { return false };
        self.left.fetch_update(Relaxed, Relaxed, |left| (left >= bytes).then(|| left - bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.left.fetch_add(bytes.cast_signed(), Relaxed);
        }
    }
}

impl Account {
    /// The account of a connection with one request and one response at a time. They are counted from 64 KiB up, so short
    /// ones cost nothing.
    #[must_use]
    pub fn of_one(budget: &Arc<Budget>) -> Arc<Account> {
        Account::new(budget, FREE)
    }

    /// The account of a connection with many messages at once. They are counted from 4 KiB up.
    #[must_use]
    pub fn of_many(budget: &Arc<Budget>) -> Arc<Account> {
        Account::new(budget, SHORT)
    }

    fn new(budget: &Arc<Budget>, short: usize) -> Arc<Account> {
        Arc::new(Account { budget: Arc::clone(budget), held: AtomicUsize::new(0), short })
    }

    /// Whether there is room for a message of this many bytes now.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.short || self.beyond_free(bytes) == 0 || self.budget.has(self.beyond_free(bytes))
    }

    /// Whether the budget is used up, so that nothing should be queued for peers that do not read.
    pub(crate) fn is_used_up(&self) -> bool {
        self.budget.left.load(Relaxed) <= 0
    }

    /// Whether the connection holds more than its free share, and the budget is used up: then it should get no work that
    /// makes it hold more.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        self.is_used_up() && self.held.load(Relaxed) > FREE
    }

    /// Ties memory of the account to a message, until its last part is dropped.
    #[must_use]
    pub fn seal(self: &Arc<Account>, bytes: Bytes) -> Bytes {
        let mut share = Share::of(self);
        share.set(bytes.len());
        share.seal(bytes)
    }

    /// How much of so many more bytes the budget has to give.
    fn beyond_free(&self, bytes: usize) -> usize {
        beyond(self.held.load(Relaxed), bytes)
    }

    /// Holds so many bytes more, whatever the budget says.
    fn add(&self, bytes: usize) {
        let taken = beyond(self.held.fetch_add(bytes, Relaxed), bytes);
        if taken > 0 {
            self.budget.left.fetch_sub(taken.cast_signed(), Relaxed);
        }
    }

    /// Holds so many bytes more if the budget has room.
    fn try_add(&self, bytes: usize) -> bool {
        let mut held = self.held.load(Relaxed);
        loop {
            let taken = beyond(held, bytes);
            if taken > 0 && !self.budget.try_take(taken) {
                return false;
            }
            // What was taken belongs to what was held just then.
            match self.held.compare_exchange_weak(held, held + bytes, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => held = now,
            }
            self.budget.give_back(taken);
        }
    }

    fn subtract(&self, bytes: usize) {
        let held = self.held.fetch_sub(bytes, Relaxed);
        self.budget.give_back(beyond(held - bytes, bytes));
    }
}

/// How many of `more` bytes are beyond the free ones, if so many are held before.
fn beyond(held: usize, more: usize) -> usize {
    (held + more).saturating_sub(FREE.max(held))
}

impl Share {
    /// An empty share of this account.
    #[must_use]
    pub fn of(account: &Arc<Account>) -> Share {
        Share { account: Some(Arc::clone(account)), taken: 0 }
    }

    /// Covers a message of this many bytes, as far as known; false if the budget has no room for it.
    #[inline]
    pub fn cover(&mut self, bytes: usize) -> bool {
        bytes <= self.taken || self.grow(bytes)
    }

    /// How many bytes are reserved; none for short messages.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let Some(account) = &self.account else { return true };
        if bytes <= account.short {
            return true;
        }
        let is_there = account.try_add(bytes - self.taken);
        if is_there {
            self.taken = bytes;
        }
        is_there
    }

    /// Covers a buffer of so many bytes that grows up to `most`: more than it needs now, if there is room, so that this is
    /// seldom asked for. Says how long the buffer may become; `None` if there is no room for what it has.
    pub(crate) fn cover_growing(&mut self, bytes: usize, most: usize) -> Option<usize> {
        let ahead = bytes.saturating_mul(2).min(most);
        [ahead, bytes].into_iter().find(|bytes| self.cover(*bytes))
    }

    /// Uses exactly this much, whatever the budget says; short messages count as nothing.
    pub fn set(&mut self, bytes: usize) {
        let Some(account) = &self.account else { return };
        let bytes = if bytes <= account.short { 0 } else { bytes };
        match bytes.checked_sub(self.taken) {
            Some(more) => account.add(more),
            None => account.subtract(self.taken - bytes),
        }
        self.taken = bytes;
    }

    /// Ties the memory to the message: it is given back when the last part of the message is dropped.
    #[inline]
    pub fn seal(&mut self, bytes: Bytes) -> Bytes {
        if self.taken == 0 {
            return bytes;
        }
        let taken = std::mem::take(&mut self.taken);
        Bytes::from_owner(Sealed { bytes, _share: Share { account: self.account.clone(), taken } })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(account) = self.account.as_ref().filter(|_| self.taken > 0) {
            account.subtract(self.taken);
        }
    }
}

impl AsRef<[u8]> for Sealed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn left(budget: &Budget) -> isize {
        budget.left.load(Relaxed)
    }

    #[test]
    fn what_a_connection_holds_beyond_its_free_bytes_comes_out_of_the_budget() {
        let budget = Budget::new(FREE);
        let account = Account::of_many(&budget);
        let (mut one, mut other) = (Share::of(&account), Share::of(&account));
        assert!(one.cover(SHORT) && other.cover(FREE), "short ones and the free bytes are not counted");
        assert_eq!(left(&budget), FREE.cast_signed());
        assert!(one.cover(FREE), "the rest of the budget");
        assert_eq!(left(&budget), 0);
        assert!(!other.cover(FREE + 1) && other.cover(FREE));
        drop(one);
        assert!(other.cover(2 * FREE) && !other.cover(2 * FREE + 1));
    }

    #[test]
    fn every_connection_has_free_bytes() {
        let budget = Budget::new(FREE);
        let mut greedy = Share::of(&Account::of_one(&budget));
        assert!(greedy.cover(2 * FREE));
        assert!(Share::of(&Account::of_one(&budget)).cover(FREE));
        assert!(!Share::of(&Account::of_one(&budget)).cover(FREE + 1));
        assert!(!Account::of_one(&budget).has_room(FREE + 1) && Account::of_many(&budget).has_room(FREE));
    }

    #[test]
    fn a_share_goes_back_with_the_last_part_of_its_message() {
        let budget = Budget::new(FREE);
        let account = Account::of_one(&budget);
        let message = account.seal(Bytes::from(vec![b'x'; 2 * FREE]));
        let part = message.slice(5..7);
        drop(message);
        assert_eq!((left(&budget), &part[..]), (0, &b"xx"[..]));
        drop(part);
        assert_eq!(left(&budget), FREE.cast_signed());
    }

    #[test]
    fn without_an_account_everything_is_covered() {
        let mut share = Share::default();
        assert!(share.cover(usize::MAX));
        let text = Bytes::from(vec![b'x'; 100]);
        assert_eq!(share.seal(text.clone()).as_ptr(), text.as_ptr());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_won_whatever_is_taken_and_given_back(
            steps in prop::collection::vec((0_usize..4, any::<bool>(), 0_usize..3 * FREE), 0..40)
        ) {
            let budget = Budget::new(4 * FREE);
            let accounts = [Account::of_many(&budget), Account::of_one(&budget)];
            let mut shares: Vec<_> = (0..4).map(|at| Share::of(&accounts[at % 2])).collect();
            for (at, is_asked, bytes) in steps {
                if is_asked {
                    shares[at].cover(bytes);
                } else {
                    shares[at].set(bytes);
                }
                let held = |of: usize| (of..4).step_by(2).map(|at| shares[at].taken).sum::<usize>();
                let taken = held(0).saturating_sub(FREE) + held(1).saturating_sub(FREE);
                prop_assert_eq!(left(&budget), 4 * FREE.cast_signed() - taken.cast_signed());
            }
            drop(shares);
            prop_assert_eq!(left(&budget), 4 * FREE.cast_signed());
        }
    }
}
