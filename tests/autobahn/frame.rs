//! Frames of RFC 6455 as the fuzzer writes and reads them: whatever a case asks for, valid or not.

/// Which end of the connection the fuzzer is. A client masks what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A frame that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) is_final: bool,
    pub(crate) opcode: u8,
    pub(crate) payload: Vec<u8>,
}

const MASK: [u8; 4] = [0x9a, 0x01, 0xfe, 0x37];

impl Side {
    /// One frame: its first byte, and a payload.
    pub(crate) fn frame(self, first: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = self.head(first, payload.len());
        out.extend(self.masked(payload, 0));
        out
    }

    /// The head of a frame of this many bytes.
    pub(crate) fn head(self, first: u8, length: usize) -> Vec<u8> {
        let mut out = vec![first];
        let flag = if self == Side::Client { 0x80 } else { 0 };
        if length < 126 {
            out.push(flag | length as u8);
        } else if length < 1 << 16 {
            out.push(flag | 126);
            out.extend((length as u16).to_be_bytes());
        } else {
            out.push(flag | 127);
            out.extend((length as u64).to_be_bytes());
        }
        if self == Side::Client {
            out.extend(MASK);
        }
        out
    }

    /// Bytes of a payload, from this place in it.
    pub(crate) fn masked(self, bytes: &[u8], at: usize) -> Vec<u8> {
        let mut out = bytes.to_vec();
        if self == Side::Client {
            let mut mask = MASK;
            mask.rotate_left(at % 4);
            xor(&mut out, mask);
        }
        out
    }

    /// Takes a whole frame of the peer out of these bytes.
    ///
    /// # Panics
    ///
    /// When the peer's frame breaks a rule: a reserved bit, a mask that is missing or should not be there, or a length that is
    /// not written in its shortest form.
    pub(crate) fn take(self, unread: &mut Vec<u8>) -> Option<Frame> {
        let (&first, &second) = (unread.first()?, unread.get(1)?);
        let peer_masks = self == Side::Server;
        assert_eq!(first & 0x70, 0, "a reserved bit is set");
        assert_eq!(second & 0x80 != 0, peer_masks, "only a client masks its frames");
        let wide = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (length, mut at, least) = match second & 0x7f {
            126 => (wide(unread.get(2..4)?), 4, 126),
            127 => (wide(unread.get(2..10)?), 10, 1 << 16),
            short => (usize::from(short), 2, 0),
        };
        assert!(length >= least, "a length of {length} is written too long");
        let mut mask = [0; 4];
        if peer_masks {
            mask.copy_from_slice(unread.get(at..at + 4)?);
            at += 4;
        }
        let mut payload = unread.get(at..at + length)?.to_vec();
        xor(&mut payload, mask);
        unread.drain(..at + length);
        Some(Frame { is_final: first & 0x80 != 0, opcode: first & 0x0f, payload })
    }
}

/// By words, because the cases have hundreds of megabytes and tests are not optimised.
fn xor(bytes: &mut [u8], mask: [u8; 4]) {
    let key = u128::from_ne_bytes([mask; 4].concat().try_into().expect("four masks are sixteen bytes"));
    let (words, rest) = bytes.as_chunks_mut::<16>();
    for word in words {
        *word = (u128::from_ne_bytes(*word) ^ key).to_ne_bytes();
    }
    rest.iter_mut().zip(key.to_ne_bytes()).for_each(|(byte, key)| *byte ^= key);
}
