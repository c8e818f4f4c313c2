//! One message per line (JT-02).

use bytes::{Buf as _, Bytes, BytesMut};
use switchboard_core::ConnectionError;

use super::too_long;

/// Cuts at line ends.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// How many bytes are known to hold no line end.
    scanned: usize,
}

impl Cutter {
    pub(super) fn cut(
        &mut self,
        buffer: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Bytes>, ConnectionError> {
        if self.scanned == 0 {
            // Blank lines are not messages, and blanks before one do not belong to it. They go at once, or each read would look
            // at them again.
            let blank = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            buffer.advance(blank);
        }
        let Some(found) = memchr::memchr(b'\n', &buffer[self.scanned..]) else {
            self.scanned = buffer.len();
            return if self.scanned > limit { Err(too_long(None, limit)) } else { Ok(None) };
        };
        let end = self.scanned + found;
        self.scanned = 0;
        if end > limit {
            return Err(too_long(None, limit));
        }
        let mut line = buffer.split_to(end + 1).freeze();
        line.truncate(end);
        if line.last() == Some(&b'\r') {
            line.truncate(end - 1);
        }
        Ok(Some(line))
    }
}

/// Appends a message as one line. In JSON a raw line break can only stand between tokens, where a blank is as good.
pub(super) fn encode(mut message: &[u8], out: &mut Vec<u8>) {
    out.reserve(message.len() + 1);
    while let Some(at) = memchr::memchr2(b'\n', b'\r', message) {
        out.extend_from_slice(&message[..at]);
        out.push(b' ');
        message.advance(at + 1);
    }
    out.extend_from_slice(message);
    out.push(b'\n');
}
