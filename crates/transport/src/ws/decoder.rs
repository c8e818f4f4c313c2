//! From bytes to messages, however the bytes are cut. No socket is involved.

use bytes::{Buf, Bytes, BytesMut};

use super::close::{Close, CloseCode, Violation};
use super::frame::{CONTROL, Header, Kind, Opcode, Role, apply_mask};

/// Puts messages together. It holds the parts of a fragmented message and nothing else.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    limit: usize,
    parts: Option<Box<Parts>>,
}

/// The message that is under way.
#[derive(Debug)]
struct Parts {
    kind: Kind,
    payload: Vec<u8>,
    /// How much of it is known to be UTF-8.
    checked: usize,
}

/// What bytes came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// A whole message.
    Message(Kind, Bytes),
    /// To be answered with a pong that holds the same.
    Ping(Bytes),
    /// A sign of life.
    Pong,
    /// The far side ends the connection; it may say why.
    Close(Option<Close>),
    /// There is no whole frame; this many bytes or more are missing.
    More(usize),
}

impl Decoder {
    /// A decoder of what `role` receives, for messages of up to `limit` bytes.
    #[must_use]
    pub fn new(role: Role, limit: usize) -> Decoder {
        Decoder { role, limit, parts: None }
    }

    /// Whether a message has begun and not ended.
    #[must_use]
    pub fn is_within_message(&self) -> bool {
        self.parts.is_some()
    }

    /// How many bytes it holds of a message that came in parts.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| parts.payload.len())
    }

    /// Takes the next frame out of `bytes`. Parts of messages are kept until the last one is here.
    ///
    /// # Errors
    ///
    /// When the far side broke the protocol. Nothing can be read after that.
    #[inline]
    pub fn next(&mut self, bytes: &mut BytesMut) -> Result<Received, Violation> {
        loop {
            let Some(header) = Header::read(bytes, self.role)? else { return Ok(Received::More(1)) };
            let length = self.admit(&header)?;
            let missing = (header.size + length).saturating_sub(bytes.len());
            if missing > 0 {
                return Ok(Received::More(missing));
            }
            bytes.advance(header.size);
            let mut payload = bytes.split_to(length);
            if let Some(mask) = header.mask {
                apply_mask(&mut payload, mask);
            }
            match header.opcode {
                Opcode::Message(kind) if header.is_final => return whole(kind, payload),
                Opcode::Message(kind) => self.begin(kind, &payload)?,
                Opcode::Continuation => {
                    if let Some(message) = self.go_on(&payload, header.is_final)? {
                        return Ok(message);
                    }
                }
                Opcode::Ping => return Ok(Received::Ping(payload.freeze())),
                Opcode::Pong => return Ok(Received::Pong),
                Opcode::Close => return close(&payload).map(Received::Close),
            }
        }
    }

    /// The length of a frame that may come now, decided before any of its payload is awaited.
    #[inline]
    fn admit(&self, header: &Header) -> Result<usize, Violation> {
        let before = match (header.opcode, &self.parts) {
            (opcode, _) if opcode.is_control() => {
                return Ok(usize::try_from(header.payload).unwrap_or(CONTROL));
            }
            (Opcode::Continuation, None) => return Err(Violation::NothingToContinue),
            (Opcode::Message(_), Some(_)) => return Err(Violation::Interleaved),
            (_, Some(parts)) => parts.payload.len(),
            (_, None) => 0,
        };
        match usize::try_from(header.payload) {
            Ok(length) if length <= self.limit - before => Ok(length),
            _ => {
                let length = header.payload.saturating_add(before as u64);
                Err(Violation::TooLong { length, limit: self.limit })
            }
        }
    }

    fn begin(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Violation> {
        let mut parts = Parts { kind, payload: payload.to_vec(), checked: 0 };
        parts.check(false)?;
        self.parts = Some(Box::new(parts));
        Ok(())
    }

    fn go_on(&mut self, payload: &[u8], is_last: bool) -> Result<Option<Received>, Violation> {
        let Some(parts) = &mut self.parts else { return Err(Violation::NothingToContinue) };
        parts.payload.extend_from_slice(payload);
        parts.check(is_last)?;
        if !is_last {
            return Ok(None);
        }
        let message = self.parts.take().map(|parts| Received::Message(parts.kind, parts.payload.into()));
        Ok(message)
    }
}

impl Parts {
    /// Looks at what was not looked at before: a character may be cut only where more follows.
    fn check(&mut self, is_last: bool) -> Result<(), Violation> {
        if self.kind == Kind::Binary {
            return Ok(());
        }
        match std::str::from_utf8(&self.payload[self.checked..]) {
            Ok(_) => self.checked = self.payload.len(),
            Err(error) if error.error_len().is_none() && !is_last => self.checked += error.valid_up_to(),
            Err(_) => return Err(Violation::Text),
        }
        Ok(())
    }
}

#[inline]
fn whole(kind: Kind, payload: BytesMut) -> Result<Received, Violation> {
    if kind == Kind::Text && std::str::from_utf8(&payload).is_err() {
        return Err(Violation::Text);
    }
    Ok(Received::Message(kind, payload.freeze()))
}

fn close(payload: &[u8]) -> Result<Option<Close>, Violation> {
    match payload {
        [] => Ok(None),
        [high, low, reason @ ..] => {
            let code = CloseCode(u16::from_be_bytes([*high, *low]));
            if !code.is_sendable() {
                return Err(Violation::Close);
            }
            let reason = std::str::from_utf8(reason).map_err(|_| Violation::Text)?;
            Ok(Some(Close { code, reason: reason.to_owned() }))
        }
        [_] => Err(Violation::Close),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_too_long_is_told_with_its_length_and_the_limit() {
        let check = |bytes: &[u8], expected: &str| {
            let violation = Decoder::new(Role::Client, 1000).next(&mut BytesMut::from(bytes)).unwrap_err();
            assert_eq!(violation.to_string(), expected);
        };
        let long = |length: u64| [&[0x82, 127][..], &length.to_be_bytes()].concat();
        check(&[0x82, 126, 0x03, 0xe9], "a message of 1001 bytes exceeds the limit of 1000 bytes");
        check(&long(30_000_000), "a message of 30000000 bytes exceeds the limit of 1000 bytes");
        // Of one in parts, those that came and the one that is announced.
        let part = [&[0x02, 100][..], &[b'x'; 100], &[0x00, 126, 0x03, 0x85]].concat();
        check(&part, "a message of 1001 bytes exceeds the limit of 1000 bytes");
    }
}
