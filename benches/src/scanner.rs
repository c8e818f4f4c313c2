//! The floor's scanner: validates JSON in one pass and hands out slices of it.
//!
//! It is the least code that does the work honestly: strict grammar, UTF-8 checked, nesting bounded. It builds no
//! values, reads no escapes and explains no error.

/// How deep arrays and objects may nest.
const MAX_DEPTH: u32 = 128;

/// The text is not JSON, or not the JSON that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What a scan step gives.
pub type Scan<T> = Result<T, Malformed>;

/// Checks that `text` is one JSON value, encoded as UTF-8.
///
/// # Errors
/// [`Malformed`] when it is not.
pub fn validate(text: &[u8]) -> Scan<()> {
    let mut scanner = Scanner::new(text)?;
    scanner.value()?;
    scanner.end()
}

/// What is left of a JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`, which must be UTF-8.
    ///
    /// # Errors
    /// [`Malformed`] when it is not.
    pub fn new(text: &'a [u8]) -> Scan<Self> {
        std::str::from_utf8(text).map_err(|_| Malformed)?;
        Ok(Self { rest: text })
    }

    /// Starts at the beginning of a slice that another scanner handed out, so its encoding is known to be right.
    pub fn over_checked(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Skips white space and takes `byte` if it comes next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        self.rest = spaceless(self.rest);
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes `byte` after white space.
    ///
    /// # Errors
    /// [`Malformed`] when something else comes next.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Scan<()> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    /// Takes the end of the text.
    ///
    /// # Errors
    /// [`Malformed`] when there is more than white space left.
    pub fn end(&mut self) -> Scan<()> {
        if spaceless(self.rest).is_empty() { Ok(()) } else { Err(Malformed) }
    }

    /// Takes one value of any kind and returns its text.
    ///
    /// # Errors
    /// [`Malformed`] when there is none, or it nests too deep.
    #[inline]
    pub fn value(&mut self) -> Scan<&'a [u8]> {
        let start = spaceless(self.rest);
        self.rest = after_value(start, MAX_DEPTH)?;
        Ok(&start[..start.len() - self.rest.len()])
    }

    /// Takes a string and returns what is between its quotes, escapes as they are.
    ///
    /// # Errors
    /// [`Malformed`] when there is none.
    #[inline]
    pub fn string(&mut self) -> Scan<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.rest;
        self.rest = after_string(start)?;
        Ok(&start[..start.len() - self.rest.len() - 1])
    }

    /// Takes a non-negative integer.
    ///
    /// # Errors
    /// [`Malformed`] when there is none, it is written in any other way, or it does not fit.
    #[inline]
    pub fn integer(&mut self) -> Scan<u64> {
        let start = spaceless(self.rest);
        self.rest = start;
        let mut value = 0_u64;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            value = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(u64::from(digit - b'0')))
                .ok_or(Malformed)?;
            self.rest = rest;
        }
        match &start[..start.len() - self.rest.len()] {
            [] | [b'0', _, ..] => Err(Malformed),
            _ => Ok(value),
        }
    }
}

/// The text from its first byte that is not white space. All `after_…` functions return what follows what they took.
#[inline]
fn spaceless(mut text: &[u8]) -> &[u8] {
    if text.first().is_some_and(|first| *first > b' ') {
        return text;
    }
    while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

fn after_value(text: &[u8], depth: u32) -> Scan<&[u8]> {
    match text {
        [b'"', rest @ ..] => after_string(rest),
        [b'{', rest @ ..] => after_object(rest, depth.checked_sub(1).ok_or(Malformed)?),
        [b'[', rest @ ..] => after_array(rest, depth.checked_sub(1).ok_or(Malformed)?),
        [b't', b'r', b'u', b'e', rest @ ..] | [b'n', b'u', b'l', b'l', rest @ ..] => Ok(rest),
        [b'f', b'a', b'l', b's', b'e', rest @ ..] => Ok(rest),
        _ => after_number(text),
    }
}

fn after_object(text: &[u8], depth: u32) -> Scan<&[u8]> {
    let mut text = spaceless(text);
    if let [b'}', rest @ ..] = text {
        return Ok(rest);
    }
    loop {
        let [b'"', rest @ ..] = text else { return Err(Malformed) };
        let [b':', rest @ ..] = spaceless(after_string(rest)?) else { return Err(Malformed) };
        match spaceless(after_value(spaceless(rest), depth)?) {
            [b',', rest @ ..] => text = spaceless(rest),
            [b'}', rest @ ..] => return Ok(rest),
            _ => return Err(Malformed),
        }
    }
}

fn after_array(text: &[u8], depth: u32) -> Scan<&[u8]> {
    let mut text = spaceless(text);
    if let [b']', rest @ ..] = text {
        return Ok(rest);
    }
    loop {
        match spaceless(after_value(text, depth)?) {
            [b',', rest @ ..] => text = spaceless(rest),
            [b']', rest @ ..] => return Ok(rest),
            _ => return Err(Malformed),
        }
    }
}

fn after_number(text: &[u8]) -> Scan<&[u8]> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let mut text = match text {
        [b'0', rest @ ..] => rest,
        _ => after_digits(text)?,
    };
    if let [b'.', rest @ ..] = text {
        text = after_digits(rest)?;
    }
    match text {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => after_digits(rest),
        _ => Ok(text),
    }
}

#[inline]
fn after_digits(text: &[u8]) -> Scan<&[u8]> {
    let [b'0'..=b'9', rest @ ..] = text else { return Err(Malformed) };
    let mut text = rest;
    while let [b'0'..=b'9', rest @ ..] = text {
        text = rest;
    }
    Ok(text)
}

/// Takes the rest of a string whose opening quote is gone.
#[inline]
fn after_string(mut text: &[u8]) -> Scan<&[u8]> {
    loop {
        match &text[plain_prefix(text)..] {
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', rest @ ..] => text = after_escape(rest)?,
            _ => return Err(Malformed),
        }
    }
}

/// Takes the rest of an escape whose backslash is gone.
fn after_escape(text: &[u8]) -> Scan<&[u8]> {
    match text {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => Ok(rest),
        [b'u', a, b, c, d, rest @ ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => {
            Ok(rest)
        }
        _ => Err(Malformed),
    }
}

/// How many bytes at the front of `text` can stand in a JSON string as they are.
#[inline]
pub fn plain_prefix(text: &[u8]) -> usize {
    // Most strings are names shorter than a word, so the first word is looked at without a loop around it.
    if let Some(word) = text.first_chunk::<8>() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return special.trailing_zeros() as usize / 8;
        }
    }
    long_plain_prefix(text)
}

fn long_plain_prefix(text: &[u8]) -> usize {
    let (words, tail) = text.as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return n * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    words.len() * 8 + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// Marks the lowest byte of `word` that is a quote, a backslash or a control character, eight bytes at once.
///
/// The high bit of each byte tells; marks above the lowest one may be wrong, which does not matter here.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let quote = below(word ^ (ONES * u64::from(b'"')), 1);
    let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
    (below(word, 0x20) | quote | backslash) & HIGH
}

#[cfg(test)]
mod tests {
    use super::{plain_prefix, validate};
    use serde::de::IgnoredAny;

    fn check(text: &str) {
        let expected = serde_json::from_str::<IgnoredAny>(text).is_ok();
        assert_eq!(validate(text.as_bytes()).is_ok(), expected, "{text}");
    }

    #[test]
    fn it_agrees_with_serde_json() {
        let valid = [
            " {\"a\" : [1, -0, 0.5e-7, 1E+2, true,false , null, {}, []]} ",
            "\"\\u00e9\\n\\\\ é\"",
            "0",
            "\"\"",
            "\"exactly 8 bytes \"",
            "[[[[]]],{\"\":{}}]",
            "123456789012345678901234567890",
        ];
        for text in valid {
            check(text);
            for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
                check(&text[..end]);
            }
        }
        let invalid = [
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"a\nb\"",
            "tru",
            "[1 2]",
            "1 1",
        ];
        invalid.into_iter().for_each(check);
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(validate(nested(128).as_bytes()).is_ok());
        assert!(validate(nested(129).as_bytes()).is_err());
    }

    #[test]
    fn text_must_be_utf8() {
        assert!(validate(b"\"\xff\"").is_err());
    }

    #[test]
    fn the_plain_prefix_ends_at_every_special_byte() {
        for special in (0..0x20).chain([b'"', b'\\']) {
            for at in 0..20 {
                let mut text = "é".repeat(10).into_bytes();
                text[at] = special;
                assert_eq!(plain_prefix(&text), at, "byte {special} at {at}");
            }
        }
        assert_eq!(plain_prefix("no specials, é".as_bytes()), 15);
    }
}
