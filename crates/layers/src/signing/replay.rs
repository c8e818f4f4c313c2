//! Replay protection: every nonce is accepted once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use foldhash::fast::FixedState;

use super::verifier::Reason;
use crate::store::{Store, StoreFuture};

/// How old signed messages may be, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// How long a message is accepted after it was signed. Default: 300.
    pub past: u64,
    /// How far the signer's clock may be ahead. Default: 60.
    pub future: u64,
    /// How much longer nonces are remembered than messages are accepted, because clocks of several machines differ. Default: 60.
    pub skew: u64,
}

impl Window {
    /// Sets how long a message is accepted after it was signed.
    #[must_use]
    pub fn with_past(self, past: u64) -> Window {
        Window { past, ..self }
    }

    /// Sets how far the signer's clock may be ahead.
    #[must_use]
    pub fn with_future(self, future: u64) -> Window {
        Window { future, ..self }
    }

    /// Whether a message of this time is accepted now.
    pub(super) fn check(&self, ts: u64, exp: Option<u64>, now: u64) -> Result<(), Reason> {
        let is_expired = now > ts.saturating_add(self.past) || exp.is_some_and(|exp| now > exp);
        if is_expired {
            return Err(Reason::Expired);
        }
        if ts > now.saturating_add(self.future) { Err(Reason::NotYetValid) } else { Ok(()) }
    }

    /// Until when the nonce of a message of this time is remembered, in seconds since 1970.
    pub(super) fn remembered_until(&self, ts: u64) -> u64 {
        ts.saturating_add(self.past).saturating_add(self.skew).saturating_add(1)
    }
}

impl Default for Window {
    fn default() -> Window {
        Window { past: 300, future: 60, skew: 60 }
    }
}

/// Up to this length a nonce with its names is the key in the store as it is. Longer ones are digested, so that a million of them fit
/// into a store with the default limits.
const SHORT: usize = 48;

/// The nonces of accepted messages.
#[derive(Clone)]
pub(super) struct Nonces {
    store: Arc<dyn Store>,
    realm: Arc<str>,
    /// By the names of our own keys: callers cannot flood it, so a fixed hash will do.
    shares: Arc<Mutex<Shares>>,
}

type Shares = HashMap<Box<[u8]>, Share, FixedState>;

/// How many nonces of one key are remembered, by the minute in which they are forgotten.
type Share = BTreeMap<u64, usize>;

impl Nonces {
    pub(super) fn new(store: Arc<dyn Store>, realm: &str) -> Nonces {
        Nonces { store, realm: realm.into(), shares: Arc::default() }
    }

    /// Whether a message of this time was signed after the store began to remember.
    pub(super) fn covers(&self, ts: u64) -> bool {
        ts >= self.store.since() / 1000
    }

    /// Remembers a nonce until this time. False if it was used before.
    pub(super) fn insert(&self, kid: &[u8], nonce: &[u8], until: u64, now: u64) -> StoreFuture<bool> {
        let time = Duration::from_secs(until.saturating_sub(now));
        let parts = [self.realm.as_bytes(), b"\n", kid, b"\n", nonce];
        let (mut text, mut len) = ([0; SHORT], 0);
        for part in parts {
            let Some(room) = text.get_mut(len..len + part.len()) else {
                let digest = digest(&SHA256, &parts.concat());
                return self.store.insert(&digest.as_ref()[..16], b"", time);
            };
            room.copy_from_slice(part);
            len += part.len();
        }
        self.store.insert(&text[..len], b"", time)
    }

    /// Whether one key among several has room for another nonce: none may take more than half of the store. If not, the time
    /// until it may have.
    pub(super) fn check_share(&self, kid: &[u8], now: u64) -> Result<(), Duration> {
        let Some(capacity) = self.store.capacity() else { return Ok(()) };
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(share) = shares.get_mut(kid) else { return Ok(()) };
        while let Some(first) = share.first_entry()
            && (first.key() + 1) * 60 <= now
        {
            first.remove();
        }
        if share.values().sum::<usize>() < capacity.div_ceil(2) {
            return Ok(());
        }
        let first = share.first_key_value().map_or(now, |(minute, _)| (minute + 1) * 60);
        Err(Duration::from_secs(first.saturating_sub(now)))
    }

    /// Counts a nonce that is remembered until this time. Replayed messages are not counted: anyone can send those.
    pub(super) fn count(&self, kid: &[u8], until: u64) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let share = match shares.get_mut(kid) {
            Some(share) => share,
            None => shares.entry(kid.into()).or_default(),
        };
        *share.entry(until / 60).or_default() += 1;
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonces").field("realm", &self.realm).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::store::{MemoryStore, StoreLimits};

    // SEC-R-02, SEC-R-07
    #[test]
    fn messages_are_accepted_up_to_the_edges_of_the_window() {
        let window = Window::default();
        let check = |ts, exp, expected: Result<(), Reason>| assert_eq!(window.check(ts, exp, 1000), expected);
        check(700, None, Ok(()));
        check(699, None, Err(Reason::Expired));
        check(1060, None, Ok(()));
        check(1061, None, Err(Reason::NotYetValid));
        check(1000, Some(1000), Ok(()));
        check(1000, Some(999), Err(Reason::Expired));
        // It shortens the window, and does not extend it.
        check(699, Some(2000), Err(Reason::Expired));
    }

    #[test]
    fn a_nonce_is_remembered_longer_than_its_message_is_accepted() {
        // The message is accepted from 940 to 1300 (SEC-R-03): past, future and skew are 420 s together.
        assert!(Window::default().remembered_until(1000) - 940 > 420);
    }

    #[tokio::test]
    async fn a_nonce_is_new_once_however_long_it_is() {
        let nonces = Nonces::new(Arc::new(MemoryStore::default()), "realm");
        for length in [1, 16, 40, 41, 42, 64] {
            for last in ["a", "b"] {
                let nonce = "0".repeat(length - 1) + last;
                assert_eq!(nonces.insert(b"k", nonce.as_bytes(), 1361, 1000).await, Ok(true), "{nonce}");
                assert_eq!(nonces.insert(b"k", nonce.as_bytes(), 1361, 1000).await, Ok(false), "{nonce}");
                assert_eq!(nonces.insert(b"l", nonce.as_bytes(), 1361, 1000).await, Ok(true), "{nonce}");
            }
        }
    }

    #[tokio::test]
    async fn no_key_takes_more_than_half_of_the_store() {
        let clock = Clock::manual(1000);
        let limits = StoreLimits::default().with_entries(4);
        let store = Arc::new(MemoryStore::with_clock(limits, clock.clone()));
        let nonces = Nonces::new(store, "");
        for _ in 0..2 {
            assert_eq!(nonces.check_share(b"a", 1000), Ok(()));
            nonces.count(b"a", 1361);
        }
        assert_eq!(nonces.check_share(b"a", 1000), Err(Duration::from_secs(380)));
        assert_eq!(nonces.check_share(b"b", 1000), Ok(()));
        assert_eq!(nonces.check_share(b"a", 1380), Ok(()));
    }
}
