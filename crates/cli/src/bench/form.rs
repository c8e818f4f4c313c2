//! A message as it is sent: written once, with holes for its identifiers.
//!
//! Identifiers have as many digits each time, so that nothing else changes: no length, no header, no frame.

/// The first identifier. It has nine digits, as all that follow, and all fit 31 bits, which is what some servers keep.
pub(crate) const FIRST: u32 = 100_000_000;
/// How many identifiers there are before they begin anew.
pub(crate) const COUNT: u32 = 900_000_000;
/// The placeholder of an identifier.
pub(crate) const HOLE: &[u8; 9] = b"000000000";

/// Bytes with holes.
#[derive(Debug)]
pub(crate) struct Form {
    bytes: Vec<u8>,
    /// Where the identifiers stand, in their order.
    holes: Vec<usize>,
    mask: Option<Mask>,
}

/// How what a client sends over WebSocket is masked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    pub(crate) key: [u8; 4],
    /// Where the masked part begins.
    pub(crate) from: usize,
}

impl Form {
    /// Bytes that stand for a text whose holes are these, and which begins in them at `shift`.
    pub(crate) fn new(bytes: Vec<u8>, holes: &[usize], shift: usize) -> Form {
        Form { bytes, holes: holes.iter().map(|hole| hole + shift).collect(), mask: None }
    }

    /// The same for bytes that are masked.
    pub(crate) fn masked(self, mask: Mask) -> Form {
        Form { mask: Some(mask), ..self }
    }

    /// How many bytes it has.
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the bytes, with this identifier and those that follow it in the holes.
    pub(crate) fn write(&self, first: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for (id, hole) in (first..).zip(&self.holes) {
            let place = &mut out[start + hole..][..HOLE.len()];
            write_digits(id, place);
            if let Some(Mask { key, from }) = self.mask {
                let shift = hole - from;
                for (at, byte) in place.iter_mut().enumerate() {
                    *byte ^= key[(shift + at) % 4];
                }
            }
        }
    }
}

fn write_digits(mut number: u32, place: &mut [u8]) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_written_into_the_holes() {
        let text = [b"[", &HOLE[..], b",", HOLE, b"]"].concat();
        let form = Form::new(text, &[1, 11], 0);
        let mut out = b"before ".to_vec();
        form.write(FIRST + 41, &mut out);
        assert_eq!(out, b"before [100000041,100000042]");
        assert_eq!(form.length(), 21);
    }

    #[test]
    fn holes_in_masked_bytes_are_masked_too() {
        let key = [7, 11, 13, 17];
        let text: Vec<u8> = [b"ab", &HOLE[..], b"c"].concat();
        let masked = text.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        let bytes: Vec<u8> = b"head".iter().copied().chain(masked).collect();
        let mut out = Vec::new();
        Form::new(bytes, &[2], 4).masked(Mask { key, from: 4 }).write(123_456_789, &mut out);
        let plain: Vec<u8> = out[4..].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
        assert_eq!(plain, b"ab123456789c");
    }
}
