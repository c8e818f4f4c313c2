//! The length in four bytes, then the message.

use bytes::{Buf as _, Bytes, BytesMut};
use switchboard_core::ConnectionError;

use super::too_long;

/// Cuts by the lengths that stand before the messages.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// The length of the message that is coming, once it is known.
    length: Option<usize>,
}

impl Cutter {
    pub(super) fn cut(
        &mut self,
        buffer: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Bytes>, ConnectionError> {
        let length = match self.length {
            Some(length) => length,
            None if buffer.len() < 4 => return Ok(None),
            None => usize::try_from(buffer.get_u32()).unwrap_or(usize::MAX),
        };
        if length > limit {
            return Err(too_long(Some(length), limit));
        }
        let is_there = buffer.len() >= length;
        self.length = (!is_there).then_some(length);
        Ok(is_there.then(|| buffer.split_to(length).freeze()))
    }

    pub(super) fn is_partial(&self) -> bool {
        self.length.is_some()
    }
}

/// Appends a message with its length.
pub(super) fn encode(message: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(message.len()).expect("messages are limited to far less than 4 GiB");
    out.reserve(message.len() + 4);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
}
