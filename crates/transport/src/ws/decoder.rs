//! From bytes to messages, however the bytes are split. No socket is involved.

use bytes::{Buf, Bytes, BytesMut};

use super::close::{Close, CloseCode, Violation};
use super::frame::{CONTROL, Header, MessageKind, Opcode, Role, apply_mask};

/// Assembles messages. It holds only the parts of a fragmented message.
#[derive(Debug)]
pub struct MessageDecoder {
    role: Role,
    limit: usize,
    parts: Option<Box<Parts>>,
}

/// The message that is in flight.
#[derive(Debug)]
struct Parts {
    kind: MessageKind,
    payload: Vec<u8>,
    /// How much of it is known to be UTF-8.
    checked: usize,
}

/// The result of decoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoded {
    /// A complete message.
    Message(MessageKind, Bytes),
    /// A ping, to be answered with a pong with the same payload.
    Ping(Bytes),
    /// A pong.
    Pong,
    /// The peer closes the connection, possibly with a reason.
    Close(Option<Close>),
    /// There is no complete frame; at least this many bytes are missing.
    More(usize),
}

impl MessageDecoder {
    /// A decoder for the messages that `role` receives, of up to `limit` bytes.
    #[must_use]
    pub fn new(role: Role, limit: usize) -> MessageDecoder {
        MessageDecoder { role, limit, parts: None }
    }

    /// Whether a message has started and not ended.
    #[must_use]
    pub fn is_within_message(&self) -> bool {
        self.parts.is_some()
    }

    /// How many bytes it holds of a message that came in parts.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| parts.payload.len())
    }

    /// Takes the next frame from `bytes`. Parts of messages are kept until the last one has arrived.
    ///
    /// # Errors
    ///
    /// When the peer violates the protocol. Nothing can be read after that.
    #[inline]
    pub fn next(&mut self, bytes: &mut BytesMut) -> Result<Decoded, Violation> {
        loop {
            let Some(header) = Header::read(bytes, self.role)? else { return Ok(Decoded::More(1)) };
            let length = self.admit(&header)?;
            let missing = (header.size + length).saturating_sub(bytes.len());
            if missing > 0 {
                return Ok(Decoded::More(missing));
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
                Opcode::Ping => return Ok(Decoded::Ping(payload.freeze())),
                Opcode::Pong => return Ok(Decoded::Pong),
                Opcode::Close => return close(&payload).map(Decoded::Close),
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

    fn begin(&mut self, kind: MessageKind, payload: &[u8]) -> Result<(), Violation> {
        let mut parts = Parts { kind, payload: payload.to_vec(), checked: 0 };
        parts.check(false)?;
        self.parts = Some(Box::new(parts));
        Ok(())
    }

    fn go_on(&mut self, payload: &[u8], is_last: bool) -> Result<Option<Decoded>, Violation> {
        let Some(parts) = &mut self.parts else { return Err(Violation::NothingToContinue) };
        parts.payload.extend_from_slice(payload);
        parts.check(is_last)?;
        if !is_last {
            return Ok(None);
        }
        let message = self.parts.take().map(|parts| Decoded::Message(parts.kind, parts.payload.into()));
        Ok(message)
    }
}

impl Parts {
    /// Looks at what was not looked at before: a character may be cut only where more follows.
    fn check(&mut self, is_last: bool) -> Result<(), Violation> {
        if self.kind == MessageKind::Binary {
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
fn whole(kind: MessageKind, payload: BytesMut) -> Result<Decoded, Violation> {
    if kind == MessageKind::Text && std::str::from_utf8(&payload).is_err() {
        return Err(Violation::Text);
    }
    Ok(Decoded::Message(kind, payload.freeze()))
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
            let violation =
                MessageDecoder::new(Role::Client, 1000).next(&mut BytesMut::from(bytes)).unwrap_err();
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
