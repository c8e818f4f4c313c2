//! A message ends where its JSON ends.
//!
//! The decoder knows enough of the grammar to see where a value ends and when a text is not JSON. It is more lenient than the
//! codec, which checks every frame: anything rejected here is rejected there too.

use bytes::{Buf as _, Bytes, BytesMut};
use switchboard_core::ConnectionError;

use super::too_long;

/// Follows the grammar through the bytes.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    expects: Expects,
    nesting: Nesting,
    /// How many bytes of the message at hand were looked at.
    scanned: usize,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Expects {
    /// A message, or white space before it.
    #[default]
    Message,
    /// The end of a line that is neither an object nor an array.
    LineEnd,
    /// Nothing of use, up to the end of the line.
    Rest,
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    /// More of a string; then a colon if it is a key.
    String {
        is_key: bool,
    },
    /// The character after a backslash.
    Escaped {
        is_key: bool,
    },
    /// More of a number or a literal.
    Token,
}

/// Which of the open brackets are of objects, one bit each.
#[derive(Debug, Default)]
struct Nesting {
    bits: Vec<u64>,
    depth: usize,
}

/// What a byte means for the message.
enum Step {
    On(Expects),
    /// It ends with this byte.
    Ends,
    /// It cannot have this byte.
    Fault,
}

impl Cutter {
    pub(super) fn cut(
        &mut self,
        buffer: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Bytes>, ConnectionError> {
        loop {
            match self.expects {
                Expects::Message => {
                    let blank = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    buffer.advance(blank);
                    let Some(first) = buffer.first() else { return Ok(None) };
                    let is_structure = matches!(first, b'{' | b'[');
                    self.expects = if is_structure { Expects::Value } else { Expects::LineEnd };
                }
                Expects::Rest => match memchr::memchr(b'\n', buffer) {
                    Some(at) => {
                        buffer.advance(at + 1);
                        self.expects = Expects::Message;
                    }
                    None => {
                        buffer.clear();
                        return Ok(None);
                    }
                },
                Expects::LineEnd => return self.cut_line(buffer, limit),
                _ => return self.cut_value(buffer, limit),
            }
        }
    }

    pub(super) fn is_partial(&self) -> bool {
        !matches!(self.expects, Expects::Message | Expects::Rest)
    }

    /// Whether an object or array has begun and is not finished.
    pub(super) fn is_within_value(&self) -> bool {
        !matches!(self.expects, Expects::Message | Expects::Rest | Expects::LineEnd)
    }

    fn cut_line(&mut self, buffer: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, ConnectionError> {
        let found = memchr::memchr(b'\n', &buffer[self.scanned..]);
        let end = found.map_or(buffer.len(), |at| self.scanned + at);
        self.scanned = end;
        if end > limit {
            return Err(too_long(None, limit));
        }
        Ok(found.map(|_| self.give(buffer, end, Expects::Message)))
    }

    fn cut_value(&mut self, buffer: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, ConnectionError> {
        let bytes = &buffer[..buffer.len().min(limit)];
        // Kept out of `self` while it runs, so that they can stay in registers.
        let (mut at, mut expects) = (self.scanned, self.expects);
        let found = loop {
            if let Expects::String { .. } = expects {
                at += plain(&bytes[at..]);
            }
            let Some(&byte) = bytes.get(at) else { break None };
            match self.nesting.step(expects, byte) {
                Step::On(next) => expects = next,
                Step::Ends => break Some((at + 1, Expects::Message)),
                // The message before was cut short, and a line after it begins another.
                Step::Fault if matches!(byte, b'{' | b'[') && at > 0 && bytes[at - 1] == b'\n' => {
                    break Some((at, Expects::Message));
                }
                Step::Fault if byte == b'\n' => break Some((at + 1, Expects::Message)),
                Step::Fault => break Some((at + 1, Expects::Rest)),
            }
            at += 1;
        };
        if let Some((end, expects)) = found {
            return Ok(Some(self.give(buffer, end, expects)));
        }
        (self.scanned, self.expects) = (at, expects);
        if buffer.len() > limit { Err(too_long(None, limit)) } else { Ok(None) }
    }

    /// Cuts off a frame and begins anew.
    fn give(&mut self, buffer: &mut BytesMut, end: usize, expects: Expects) -> Bytes {
        *self = Cutter { expects, nesting: std::mem::take(&mut self.nesting), scanned: 0 };
        self.nesting.clear();
        buffer.split_to(end).freeze()
    }
}

/// Whether this text is the beginning of an object or array, and not all of it.
pub(super) fn is_begun(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let (mut nesting, mut expects) = (Nesting::default(), Expects::Value);
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return false;
    }
    text.iter().all(|byte| match nesting.step(expects, *byte) {
        Step::On(next) => {
            expects = next;
            true
        }
        Step::Ends | Step::Fault => false,
    })
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// How many bytes a string goes on without anything special in it.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)).unwrap_or(bytes.len())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

impl Nesting {
    /// What this byte means where that is expected.
    #[inline]
    fn step(&mut self, expects: Expects, byte: u8) -> Step {
        match expects {
            Expects::String { is_key } => match byte {
                b'"' => Step::On(if is_key { Expects::Colon } else { Expects::CommaOrEnd }),
                b'\\' => Step::On(Expects::Escaped { is_key }),
                0..=0x1F => Step::Fault,
                _ => Step::On(expects),
            },
            Expects::Escaped { is_key } if byte > 0x1F => Step::On(Expects::String { is_key }),
            Expects::Escaped { .. } => Step::Fault,
            Expects::Token if is_token(byte) => Step::On(Expects::Token),
            Expects::Token => self.after_value(byte),
            _ if is_blank(byte) => Step::On(expects),
            Expects::CommaOrEnd => self.after_value(byte),
            Expects::Colon if byte == b':' => Step::On(Expects::Value),
            Expects::Key | Expects::KeyOrEnd if byte == b'"' => Step::On(Expects::String { is_key: true }),
            Expects::KeyOrEnd if byte == b'}' => self.close(),
            Expects::ValueOrEnd if byte == b']' => self.close(),
            Expects::Value | Expects::ValueOrEnd => self.value(byte),
            _ => Step::Fault,
        }
    }

    fn value(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => {
                self.open(true);
                Step::On(Expects::KeyOrEnd)
            }
            b'[' => {
                self.open(false);
                Step::On(Expects::ValueOrEnd)
            }
            b'"' => Step::On(Expects::String { is_key: false }),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Step::On(Expects::Token),
            _ => Step::Fault,
        }
    }

    fn after_value(&mut self, byte: u8) -> Step {
        match (byte, self.is_in_object()) {
            (b',', true) => Step::On(Expects::Key),
            (b',', false) => Step::On(Expects::Value),
            (b'}', true) | (b']', false) => self.close(),
            _ if is_blank(byte) => Step::On(Expects::CommaOrEnd),
            _ => Step::Fault,
        }
    }

    fn close(&mut self) -> Step {
        self.depth -= 1;
        if self.depth == 0 { Step::Ends } else { Step::On(Expects::CommaOrEnd) }
    }

    fn open(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        let mask = 1 << bit;
        self.bits[word] = if is_object { self.bits[word] | mask } else { self.bits[word] & !mask };
        self.depth += 1;
    }

    fn is_in_object(&self) -> bool {
        let top = self.depth.saturating_sub(1);
        self.bits.get(top / 64).is_some_and(|word| word >> (top % 64) & 1 == 1)
    }

    fn clear(&mut self) {
        self.depth = 0;
        self.bits.truncate(1);
        self.bits.shrink_to(1);
    }
}
