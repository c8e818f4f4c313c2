//! The keys with which a client masks its frames, and the key of its handshake.

use std::hash::{BuildHasher, RandomState};

/// Unpredictable keys, as RFC 6455 requires: the outputs of a keyed hash (SipHash, with a key from the
/// operating system) over a counter. That needs no call to the system for each frame.
#[derive(Debug, Default)]
pub(super) struct Masks {
    state: RandomState,
    count: u64,
}

impl Masks {
    #[inline]
    pub(super) fn next(&mut self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.wide();
        [a, b, c, d]
    }

    /// Sixteen bytes for the handshake.
    pub(super) fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        for half in nonce.chunks_exact_mut(8) {
            half.copy_from_slice(&self.wide());
        }
        nonce
    }

    fn wide(&mut self) -> [u8; 8] {
        self.count = self.count.wrapping_add(1);
        self.state.hash_one(self.count).to_ne_bytes()
    }
}
