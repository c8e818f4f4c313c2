//! Short texts without an allocation, long ones as slices of the frame they came in.
//!
//! `Json`, `Id` and `Name` are built on it. Up to [`INLINE`] bytes are copied into the value itself, which is
//! cheaper than counting a reference and lets the frame go; anything longer shares the frame's buffer.

use std::hash::{Hash, Hasher};
use std::io;

use bytes::Bytes;

/// How many bytes fit without sharing a buffer.
pub(crate) const INLINE: usize = 38;

/// As many digits as have room in a register with a sign.
const LONGEST_IN_REGISTER: u8 = 15;

/// A cheap, immutable run of bytes that is known to be UTF-8.
#[derive(Clone)]
pub(crate) enum Text {
    Inline { len: u8, bytes: [u8; INLINE] },
    Shared(Bytes),
}

impl Text {
    /// Wraps a text that lives as long as the program.
    pub(crate) const fn from_static(text: &'static str) -> Text {
        Text::Shared(Bytes::from_static(text.as_bytes()))
    }

    /// Copies a short text or a long one; the result shares nothing.
    pub(crate) fn copy_from(bytes: &[u8]) -> Text {
        Text::inline(bytes).unwrap_or_else(|| Text::Shared(Bytes::copy_from_slice(bytes)))
    }

    /// A copy that shares nothing.
    pub(crate) fn detached(&self) -> Text {
        match self {
            Text::Inline { .. } => self.clone(),
            Text::Shared(bytes) => Text::copy_from(bytes),
        }
    }

    /// The part `start..end` of a frame, shared unless it is short.
    #[inline(always)]
    pub(crate) fn slice(frame: &Bytes, start: usize, end: usize) -> Text {
        let len = end - start;
        if len > INLINE {
            return Text::Shared(frame.slice(start..end));
        }
        // Copying a fixed number of bytes is cheaper than copying just those that count.
        if let Some((fixed, _)) = frame[start..].split_first_chunk::<INLINE>() {
            return Text::Inline { len: len as u8, bytes: *fixed };
        }
        Text::copy_from(&frame[start..end])
    }

    /// Becomes the part `start..end` of a frame, as [`slice`](Text::slice) has it, but written where it stays: a text that
    /// is moved right after it was written makes a processor wait.
    #[inline(always)]
    pub(crate) fn become_slice(&mut self, frame: &Bytes, start: usize, end: usize) {
        match (frame[start..].split_first_chunk::<INLINE>(), self) {
            (Some((fixed, _)), Text::Inline { len, bytes }) if end - start <= INLINE => {
                *len = (end - start) as u8;
                *bytes = *fixed;
            }
            (_, text) => *text = Text::slice(frame, start, end),
        }
    }

    /// A whole number in decimal digits.
    #[inline]
    pub(crate) fn from_number(number: u64, is_negative: bool) -> Text {
        // The digits are put together in a register: written one by one, they could not be read as a whole at once.
        let (mut digits, mut rest, mut len) = (0_u128, number, 0);
        loop {
            digits = digits << 8 | u128::from(b'0' + (rest % 10) as u8);
            (rest, len) = (rest / 10, len + 1);
            if rest == 0 || len == LONGEST_IN_REGISTER {
                break;
            }
        }
        if rest > 0 {
            let sign = if is_negative { "-" } else { "" };
            return Text::copy_from(format!("{sign}{number}").as_bytes());
        }
        if is_negative {
            (digits, len) = (digits << 8 | u128::from(b'-'), len + 1);
        }
        let mut bytes = [0; INLINE];
        bytes[..16].copy_from_slice(&digits.to_le_bytes());
        Text::Inline { len, bytes }
    }

    /// Takes over a buffer without copying it, unless it is short.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> Text {
        Text::inline(&bytes).unwrap_or_else(|| Text::Shared(Bytes::from(bytes)))
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Inline { len, bytes } => &bytes[..usize::from(*len).min(INLINE)],
            Text::Shared(bytes) => bytes,
        }
    }

    /// The first byte, or any byte if the text is empty: whether it is would cost more to find out than the byte.
    #[inline(always)]
    pub(crate) fn first_byte(&self) -> u8 {
        match self {
            Text::Inline { bytes, .. } => bytes[0],
            Text::Shared(bytes) => bytes.first().copied().unwrap_or(0),
        }
    }

    /// Writes the text at the end of `out`.
    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            // Copying a fixed number of bytes is cheaper than copying just those that count, if they have room.
            Text::Inline { len, bytes } if out.capacity() - out.len() >= INLINE => {
                let end = out.len() + usize::from(*len);
                out.extend_from_slice(bytes);
                out.truncate(end);
            }
            text => out.extend_from_slice(text.as_bytes()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("a text is made of checked UTF-8 only")
    }

    /// The part of this text that `part` points into, shared where this text is.
    pub(crate) fn sub(&self, part: &[u8]) -> Text {
        match self {
            Text::Shared(bytes) if part.len() > INLINE => Text::Shared(bytes.slice_ref(part)),
            _ => Text::copy_from(part),
        }
    }

    fn inline(source: &[u8]) -> Option<Text> {
        if source.len() > INLINE {
            return None;
        }
        let mut bytes = [0; INLINE];
        bytes[..source.len()].copy_from_slice(source);
        Some(Text::Inline { len: u8::try_from(source.len()).ok()?, bytes })
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// Collects output and turns it into a [`Text`]; short output never touches the heap.
pub(crate) struct TextWriter {
    inline: [u8; INLINE],
    len: usize,
    spilled: Vec<u8>,
}

impl Default for TextWriter {
    fn default() -> TextWriter {
        TextWriter { inline: [0; INLINE], len: 0, spilled: Vec::new() }
    }
}

impl TextWriter {
    pub(crate) fn finish(self) -> Text {
        if self.spilled.is_empty() {
            Text::Inline { len: u8::try_from(self.len).unwrap_or(0), bytes: self.inline }
        } else {
            Text::from_vec(self.spilled)
        }
    }
}

impl io::Write for TextWriter {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.write_all(more)?;
        Ok(more.len())
    }

    #[inline]
    fn write_all(&mut self, more: &[u8]) -> io::Result<()> {
        if !self.spilled.is_empty() {
            self.spilled.extend_from_slice(more);
        } else if let Some(room) = self.inline.get_mut(self.len..self.len + more.len()) {
            room.copy_from_slice(more);
            self.len += more.len();
        } else {
            self.spilled.reserve((self.len + more.len()).max(128));
            self.spilled.extend_from_slice(&self.inline[..self.len]);
            self.spilled.extend_from_slice(more);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_text_is_one_word_larger_than_the_buffer_handle_it_may_hold() {
        assert_eq!(size_of::<Text>(), size_of::<Bytes>() + 8);
        assert_eq!(size_of::<Option<Text>>(), size_of::<Text>());
    }

    #[test]
    fn numbers_are_written_as_everybody_writes_them() {
        let around = [1_000_000_000_000_000 - 1, 1_000_000_000_000_000, 10_000_000_000_000_000];
        for number in [0, 1, 9, 10, 99, 100, 107, u64::from(u32::MAX), u64::MAX].into_iter().chain(around) {
            assert_eq!(Text::from_number(number, false).as_str(), number.to_string());
            assert_eq!(Text::from_number(number, true).as_str(), format!("-{number}"));
        }
    }

    #[test]
    fn short_and_long_texts_compare_by_content() {
        for len in [0, 1, INLINE - 1, INLINE, INLINE + 1, 100] {
            let text = "x".repeat(len);
            let frame = Bytes::from(text.clone());
            assert!(Text::copy_from(text.as_bytes()) == Text::slice(&frame, 0, len));
            assert_eq!(Text::from_vec(text.clone().into_bytes()).as_str(), text);
        }
    }

    #[test]
    fn the_writer_keeps_every_byte_wherever_the_writes_are_cut() {
        let text: Vec<u8> = (0..100).map(|n| b'a' + n % 26).collect();
        for cut in 0..=text.len() {
            for end in [cut, cut + 1, INLINE, INLINE + 1, 100] {
                let end = end.clamp(cut, text.len());
                let mut writer = TextWriter::default();
                writer.write_all(&text[..cut]).unwrap();
                writer.write_all(&text[cut..end]).unwrap();
                assert_eq!(writer.finish().as_bytes(), &text[..end]);
            }
        }
    }
}
