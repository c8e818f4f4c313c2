//! Lower-case hexadecimal.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};

/// These bytes in lower-case hexadecimal.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut digits = vec![0; bytes.len() * 2];
    write(bytes, &mut digits);
    String::from_utf8(digits).expect("the digits are ASCII")
}

/// Writes these bytes into this room, as far as it goes. Both digits of a byte are written at once.
pub(super) fn write<'a>(bytes: &[u8], digits: &'a mut [u8]) -> &'a [u8] {
    const PAIRS: [[u8; 2]; 256] = {
        let (digits, mut pairs, mut byte) = (b"0123456789abcdef", [[0; 2]; 256], 0);
        while byte < 256 {
            pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
            byte += 1;
        }
        pairs
    };
    for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = PAIRS[usize::from(*byte)];
    }
    &digits[..digits.len().min(bytes.len() * 2)]
}

const WRONG: u8 = 0xff;

/// What each digit stands for.
const VALUES: [u8; 256] = {
    let (digits, mut values, mut value) = (b"0123456789abcdef", [WRONG; 256], 0);
    while value < 16 {
        values[digits[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The bytes that lower-case hexadecimal stands for.
pub(crate) fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_ref().as_chunks() else { return None };
    let mut bytes = vec![0; pairs.len()];
    read(pairs, &mut bytes).then_some(bytes)
}

/// The same for 32 bytes.
pub(super) fn decode_array(digits: &[u8; 64]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    read(digits.as_chunks().0, &mut bytes).then_some(bytes)
}

/// Reads pairs of digits. False if one is none.
#[inline]
fn read(pairs: &[[u8; 2]], bytes: &mut [u8]) -> bool {
    let mut seen = 0;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (VALUES[usize::from(*high)], VALUES[usize::from(*low)]);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    seen != WRONG
}

/// A SHA-256 in lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 64]);

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Digest {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the digits are ASCII")
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The SHA-256 of these bytes.
pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    let mut digits = [0; 64];
    write(digest(&SHA256, bytes).as_ref(), &mut digits);
    Digest(digits)
}

/// So many random bytes, in lower-case hexadecimal.
///
/// # Errors
///
/// If the system has no random numbers.
pub(crate) fn random<const BYTES: usize>() -> Result<String, NoRandomness> {
    let mut bytes = [0; BYTES];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(encode(&bytes))
}

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomness;
