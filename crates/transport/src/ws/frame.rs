//! The frames of RFC 6455 on the wire: headers, masks, control frames.

use super::close::{CloseCode, Violation};

/// The role of this end of a connection. Clients mask what they send, servers do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that accepted.
    Server,
    /// The end that connected.
    Client,
}

/// The kind of a message. JSON-RPC is text in both (JT-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Message(MessageKind),
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn read(bits: u8) -> Result<Opcode, Violation> {
        Ok(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Message(MessageKind::Text),
            2 => Opcode::Message(MessageKind::Binary),
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            other => return Err(Violation::Opcode(other)),
        })
    }

    fn bits(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Message(MessageKind::Text) => 1,
            Opcode::Message(MessageKind::Binary) => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// The most bytes that a control frame may carry.
pub(super) const CONTROL: usize = 125;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_final: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<[u8; 4]>,
    pub(super) payload: u64,
    /// The bytes of the header itself.
    pub(super) size: usize,
}

impl Header {
    /// Reads the header of a frame that `role` receives; nothing if it is not all here. What can be refused is refused
    /// as soon as it is seen.
    #[inline]
    pub(super) fn read(bytes: &[u8], role: Role) -> Result<Option<Header>, Violation> {
        let [first, second, rest @ ..] = bytes else {
            return bytes.first().map_or(Ok(None), |first| Header::check_first(*first).map(|_| None));
        };
        let opcode = Header::check_first(*first)?;
        let is_final = first & 0x80 != 0;
        let is_masked = second & 0x80 != 0;
        match (role, is_masked) {
            (Role::Server, false) => return Err(Violation::Unmasked),
            (Role::Client, true) => return Err(Violation::Masked),
            _ => {}
        }
        let short = second & 0x7f;
        if opcode.is_control() && usize::from(short) > CONTROL {
            return Err(Violation::LongControl);
        }
        let (payload, extended) = match (short, rest) {
            (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 2),
            (127, [a, b, c, d, e, f, g, h, ..]) => (u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), 8),
            (126 | 127, _) => return Ok(None),
            (short, _) => (u64::from(short), 0),
        };
        let is_minimal = match extended {
            2 => payload >= 126,
            8 => payload > u64::from(u16::MAX) && payload >> 63 == 0,
            _ => true,
        };
        if !is_minimal {
            return Err(Violation::Length);
        }
        let mask = match rest.get(extended..) {
            _ if !is_masked => None,
            Some([a, b, c, d, ..]) => Some([*a, *b, *c, *d]),
            _ => return Ok(None),
        };
        let size = 2 + extended + if is_masked { 4 } else { 0 };
        Ok(Some(Header { is_final, opcode, mask, payload, size }))
    }

    fn check_first(first: u8) -> Result<Opcode, Violation> {
        if first & 0x70 != 0 {
            return Err(Violation::ReservedBits);
        }
        let opcode = Opcode::read(first & 0x0f)?;
        if opcode.is_control() && first & 0x80 == 0 {
            return Err(Violation::FragmentedControl);
        }
        Ok(opcode)
    }
}

/// Writes a whole frame behind what is in `out`, masked if there is a mask.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, opcode: Opcode, mask: Option<[u8; 4]>, payload: &[u8]) {
    write_part(out, opcode, true, mask, payload);
}

/// Writes a frame that may not be the last of its message.
pub(super) fn write_part(
    out: &mut Vec<u8>,
    opcode: Opcode,
    is_final: bool,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) {
    out.reserve(14 + payload.len());
    let first = opcode.bits() | if is_final { 0x80 } else { 0 };
    let masked: u8 = if mask.is_some() { 0x80 } else { 0 };
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short @ ..=125), _) => out.extend_from_slice(&[first, masked | short]),
        (_, Ok(length)) => {
            let [high, low] = length.to_be_bytes();
            out.extend_from_slice(&[first, masked | 126, high, low]);
        }
        _ => {
            out.extend_from_slice(&[first, masked | 127]);
            out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    if let Some(mask) = mask {
        out.extend_from_slice(&mask);
        let start = out.len();
        out.extend_from_slice(payload);
        apply_mask(&mut out[start..], mask);
    } else {
        out.extend_from_slice(payload);
    }
}

/// The payload of a close frame; the reason is cut to what fits.
pub(super) fn close_payload(code: CloseCode, reason: &str) -> Vec<u8> {
    let mut payload = code.0.to_be_bytes().to_vec();
    let fits = (0..=reason.len().min(CONTROL - 2)).rev().find(|end| reason.is_char_boundary(*end));
    payload.extend_from_slice(&reason.as_bytes()[..fits.unwrap_or(0)]);
    payload
}

/// Masks or unmasks: the same key does both.
#[inline]
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip([a, b, c, d, a, b, c]) {
        *byte ^= key;
    }
}
