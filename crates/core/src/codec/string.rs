//! Strings: finding their end, checking their escapes, and reading them.

use crate::codec::scan::{Refused, Scanner};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes are looked at in one step once a string turns out to be long.
const STRIDE: usize = 32;

/// After how many words of eight bytes a string counts as long.
const LONG_AFTER: usize = 4;

impl Scanner<'_> {
    /// Goes past a string that begins here.
    #[inline(always)]
    pub(super) fn string(&mut self, start: usize) -> Result<usize, Refused> {
        // Most strings are short and plain: then eight bytes at once tell all.
        if let Some(word) = self.text.get(start + 1..start + 9) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes were taken"));
            let stop = special_bytes(word);
            let before = (stop & stop.wrapping_neg()).wrapping_sub(1);
            let end = start + 1 + stop.trailing_zeros() as usize / 8;
            if word & HIGH & before == 0 && self.byte(end) == b'"' && stop != 0 {
                return Ok(end + 1);
            }
        }
        self.any_string(start)
    }

    /// Goes past a string of any length and content.
    fn any_string(&mut self, start: usize) -> Result<usize, Refused> {
        let mut at = start + 1;
        loop {
            at = self.plain_characters(at);
            match self.byte(at) {
                b'"' => return Ok(at + 1),
                b'\\' => {
                    self.has_escape = true;
                    at = self.escape(at)?;
                }
                _ if at >= self.text.len() => return Err(self.expected("the end of the string", at)),
                _ => return Err(self.expected("no control character inside a string", at)),
            }
        }
    }

    /// Goes past everything up to the next quote, backslash or control character.
    #[inline(always)]
    fn plain_characters(&mut self, mut at: usize) -> usize {
        let mut seen = 0;
        let mut words = 0;
        while let Some(word) = self.text.get(at..at + 8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes were taken"));
            let stop = special_bytes(word);
            if stop != 0 {
                let plain = stop.trailing_zeros() / 8;
                // Only what stands before the special byte belongs to the string.
                seen |= word & (1_u64 << (plain * 8)).wrapping_sub(1);
                self.has_non_ascii |= seen & HIGH != 0;
                return at + plain as usize;
            }
            seen |= word;
            at += 8;
            words += 1;
            if words == LONG_AFTER {
                at = self.long_run(at);
            }
        }
        self.has_non_ascii |= seen & HIGH != 0;
        self.last_characters(at)
    }

    /// Goes on in strides that compilers turn into vector instructions, while nothing special is in sight.
    fn long_run(&mut self, mut at: usize) -> usize {
        for chunk in self.text[at..].chunks_exact(STRIDE) {
            let mut special = false;
            let mut all = 0_u8;
            for &byte in chunk {
                special |= (byte < 0x20) | (byte == b'"') | (byte == b'\\');
                all |= byte;
            }
            if special {
                break;
            }
            self.has_non_ascii |= all >= 0x80;
            at += STRIDE;
        }
        at
    }

    /// Goes on byte by byte, near the end of the text.
    fn last_characters(&mut self, mut at: usize) -> usize {
        while let Some(&byte) = self.text.get(at) {
            if byte < 0x20 || byte == b'"' || byte == b'\\' {
                break;
            }
            self.has_non_ascii |= byte >= 0x80;
            at += 1;
        }
        at
    }

    /// Goes past one escape; of surrogates only pairs are taken (J2-57, J2-58).
    fn escape(&mut self, at: usize) -> Result<usize, Refused> {
        match self.byte(at + 1) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
            b'u' => match self.hex_escape(at + 2)? {
                0xD800..=0xDBFF => {
                    let pair = self.text[at + 6..].starts_with(b"\\u");
                    if !pair || !(0xDC00..=0xDFFF).contains(&self.hex_escape(at + 8)?) {
                        return Err(self.expected("the second half of a surrogate pair", at + 6));
                    }
                    Ok(at + 12)
                }
                0xDC00..=0xDFFF => Err(self.expected("the first half of a surrogate pair", at)),
                _ => Ok(at + 6),
            },
            _ => Err(self.expected("a valid escape", at)),
        }
    }

    fn hex_escape(&mut self, at: usize) -> Result<u16, Refused> {
        let digits = self.text.get(at..at + 4).and_then(hex);
        digits.ok_or_else(|| self.expected("four hexadecimal digits", at))
    }
}

/// A mask with the high bit of every byte that ends a run of plain characters: a quote, a backslash, or a control
/// character. The lowest bit set is exact; higher ones may be wrong.
#[inline(always)]
pub(super) fn special_bytes(word: u64) -> u64 {
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    let quote = quote.wrapping_sub(LOW) & !quote;
    let backslash = backslash.wrapping_sub(LOW) & !backslash;
    (control | quote | backslash) & HIGH
}

fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |unit: u16, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

/// A string as JSON, escaped as little as can be. What serde_json writes, but with long plain runs copied in one go.
pub(crate) fn quote(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote_into(&mut out, text);
    out
}

/// Writes a string as JSON at the end of `out`.
pub(crate) fn quote_into(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    loop {
        let (plain, after) = rest.split_at(plain_run(rest));
        out.extend_from_slice(plain);
        let Some((&special, after)) = after.split_first() else { break };
        escape_into(out, special);
        rest = after;
    }
    out.push(b'"');
}

/// How many bytes can be written as they are.
fn plain_run(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let mut len = 0;
    for chunk in bytes.chunks_exact(STRIDE) {
        if chunk.iter().fold(false, |found, byte| found | is_special(byte)) {
            break;
        }
        len += STRIDE;
    }
    while let Some(word) = bytes[len..].first_chunk() {
        let stop = special_bytes(u64::from_le_bytes(*word));
        if stop != 0 {
            return len + stop.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + bytes[len..].iter().position(is_special).unwrap_or(bytes.len() - len)
}

fn escape_into(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// The content of a string that was checked, from the text between its quotes.
pub(crate) fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(backslash) = rest.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        let taken = match rest.first() {
            Some(b'u') => {
                let (character, taken) = code_point(rest);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                taken
            }
            Some(&other) => {
                out.push(simple_escape(other));
                1
            }
            None => 0,
        };
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest);
    out
}

fn simple_escape(letter: u8) -> u8 {
    match letter {
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

/// The character that `uXXXX` or a pair of them stands for, and how many bytes that took.
fn code_point(rest: &[u8]) -> (char, usize) {
    let unit = |at: usize| u32::from(rest.get(at..at + 4).and_then(hex).unwrap_or(0xFFFD));
    let first = unit(1);
    if (0xD800..=0xDBFF).contains(&first) {
        let second = unit(7);
        let scalar = 0x1_0000 + ((first - 0xD800) << 10) + (second.wrapping_sub(0xDC00) & 0x3FF);
        return (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 11.min(rest.len()));
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5.min(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::scan::validate;
    use crate::limits::Limits;

    #[test]
    fn escapes_read_as_serde_json_reads_them() {
        for text in
            [r#""\u006dethod""#, r#""\ud83d\ude00 \n\t\\\/\"\b\f\r""#, r#""a\u0000b""#, "\"plain é\"", "\"\""]
        {
            let expected: String = serde_json::from_str(text).unwrap();
            assert_eq!(unescape(&text.as_bytes()[1..text.len() - 1]), expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn strings_are_written_as_serde_json_writes_them() {
        let every: String = (0..0x500).filter_map(char::from_u32).collect();
        let long = "x".repeat(100);
        for text in ["", "a", "\u{7f}\u{2028}😀", &every, &long, &format!("{long}\n{long}\"")] {
            assert_eq!(quote(text), serde_json::to_vec(text).unwrap(), "{text:?}");
        }
    }

    #[test]
    fn a_special_byte_is_found_at_every_place() {
        for len in 0..100 {
            for special in ["\\n", "\u{1}", "é"] {
                for at in 0..=len {
                    let text = format!("\"{}{special}{}\"", "x".repeat(at), "x".repeat(len - at));
                    let ours = validate(text.as_bytes(), &Limits::default()).is_ok();
                    assert_eq!(ours, serde_json::from_str::<String>(&text).is_ok(), "{text}");
                }
            }
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused() {
        for bad in [r#""\ud800""#, r#""\ud800x""#, r#""\udc00""#, r#""\ud800\n""#, r#""\ud800\u0041""#] {
            assert!(validate(bad.as_bytes(), &Limits::default()).is_err(), "{bad}");
        }
    }
}
