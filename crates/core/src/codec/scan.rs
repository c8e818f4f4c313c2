//! The scanner: checks JSON and finds where values end.
//!
//! It accepts exactly the texts of RFC 8259 that are valid UTF-8, without lone surrogates, within the [`Limits`]. It
//! goes over each byte once and keeps its own stack, so that no input costs more than time and memory in proportion to
//! its length.

use std::cell::Cell;
use std::fmt;

use crate::code::Code;
use crate::codec::keys::{self, Key};
use crate::error::ErrorObject;
use crate::limits::Limits;

/// A part of a frame. No value starts at byte 0 of an envelope, so the default stands for "absent".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// Why a whole frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Not JSON: what was expected, and at which byte.
    Syntax(&'static str, usize),
    /// Nested deeper than this limit.
    Depth(usize),
    /// An object or array with more members than this limit.
    Members(usize),
    /// A number with more characters than this limit.
    Number(usize),
    /// A batch with more entries than this limit.
    Batch(usize),
    /// A frame with more bytes than this limit.
    Frame(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Syntax(expected, at) => write!(f, "expected {expected} at byte {at}"),
            Fault::Depth(limit) => write!(f, "nested deeper than {limit} levels (limits.depth)"),
            Fault::Members(limit) => {
                write!(f, "an object or array has more than {limit} members (limits.members)")
            }
            Fault::Number(limit) => write!(f, "a number has more than {limit} characters (limits.number)"),
            Fault::Batch(limit) => write!(f, "the batch has more than {limit} entries (limits.batch)"),
            Fault::Frame(limit) => write!(f, "the message has more than {limit} bytes (limits.frame)"),
        }
    }
}

impl From<Fault> for ErrorObject {
    fn from(fault: Fault) -> ErrorObject {
        let code = match fault {
            Fault::Syntax(..) => Code::PARSE_ERROR,
            _ => Code::INVALID_REQUEST,
        };
        ErrorObject::from_code(code).with_detail(fault.to_string())
    }
}

/// Checks that `text` is one JSON text and nothing else, and tells where it stands between the white space.
pub(crate) fn validate(text: &[u8], limits: &Limits) -> Result<Span, Fault> {
    let mut scanner = Scanner::new(text, limits);
    let span = scanner.value()?;
    scanner.finish()?;
    Ok(span)
}

/// A container that the scan is inside of.
#[derive(Clone, Copy)]
pub(super) struct Level {
    is_object: bool,
    /// How many members or elements it has so far.
    count: usize,
    /// Where its names begin in the list of names.
    first_key: usize,
}

/// Lists that are used again by the next scan on this thread, so that scanning does not allocate.
#[derive(Default)]
struct Scratch {
    levels: Vec<Level>,
    keys: Vec<Key>,
}

/// Scratch lists longer than this are given back to the allocator.
const SCRATCH_KEPT: usize = 4096;

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch { levels: Vec::new(), keys: Vec::new() }) };
}

/// One pass over one text.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    /// Whether a byte above 127 was seen inside a string: then the text's UTF-8 is checked at the end.
    pub(super) has_non_ascii: bool,
    /// Whether an object with a name given twice was seen since this was last cleared.
    pub(super) has_duplicate: bool,
    /// How deep the value being scanned stands, for the depth limit.
    pub(super) outer_depth: usize,
    limits: &'a Limits,
    scratch: Scratch,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8], limits: &'a Limits) -> Scanner<'a> {
        let scratch = SCRATCH.take();
        let (has_non_ascii, has_duplicate, outer_depth) = (false, false, 0);
        Scanner { text, at: 0, has_non_ascii, has_duplicate, outer_depth, limits, scratch }
    }

    /// The byte at the current place; 0, which no token begins with, at the end.
    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    pub(super) fn expected(&self, what: &'static str) -> Fault {
        Fault::Syntax(what, self.at)
    }

    /// Goes past `byte`, which must come next after white space.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        self.skip_space();
        if self.peek() != byte {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    /// Goes past one value and the white space before it.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Span, Fault> {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            b'{' | b'[' => self.container()?,
            _ => self.scalar()?,
        }
        Ok(Span { start, end: self.at })
    }

    /// Goes past one string, number or literal.
    #[inline]
    fn scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(self.expected("a value")),
        }
    }

    /// Goes past an array or object, however deep, with a stack of its own.
    fn container(&mut self) -> Result<(), Fault> {
        self.open()?;
        loop {
            if self.before_member()? {
                match self.peek() {
                    b'{' | b'[' => {
                        self.open()?;
                        continue;
                    }
                    _ => self.scalar()?,
                }
            } else if self.close() {
                return Ok(());
            }
        }
    }

    /// Enters the array or object that begins here.
    fn open(&mut self) -> Result<(), Fault> {
        if self.scratch.levels.len() + self.outer_depth >= self.limits.depth {
            return Err(Fault::Depth(self.limits.depth));
        }
        let is_object = self.peek() == b'{';
        self.scratch.levels.push(Level { is_object, count: 0, first_key: self.scratch.keys.len() });
        self.at += 1;
        Ok(())
    }

    /// Goes to the next member of the innermost container, past its name and colon if it has one; false at the end.
    #[inline]
    fn before_member(&mut self) -> Result<bool, Fault> {
        self.skip_space();
        let level = self.scratch.levels.last_mut().expect("the scan is inside a container");
        let is_object = level.is_object;
        let byte = self.text.get(self.at).copied().unwrap_or(0);
        if byte == if is_object { b'}' } else { b']' } {
            return Ok(false);
        }
        if level.count > 0 {
            if byte != b',' {
                return Err(self.expected(if is_object { "',' or '}'" } else { "',' or ']'" }));
            }
            self.at += 1;
        }
        level.count += 1;
        if level.count > self.limits.members {
            return Err(Fault::Members(self.limits.members));
        }
        if is_object {
            self.skip_space();
            let key = self.key()?;
            self.scratch.keys.push(key);
            self.expect(b':', "':'")?;
        }
        self.skip_space();
        Ok(true)
    }

    /// Leaves the innermost container; true when it was the outermost of this value.
    #[inline]
    fn close(&mut self) -> bool {
        self.at += 1;
        let level = self.scratch.levels.pop().expect("the scan is inside a container");
        if level.is_object {
            let names = &mut self.scratch.keys[level.first_key..];
            self.has_duplicate |= keys::has_duplicate(self.text, names);
            self.scratch.keys.truncate(level.first_key);
        }
        self.scratch.levels.is_empty()
    }

    /// Goes past the name of a member.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Key, Fault> {
        if self.peek() != b'"' {
            return Err(self.expected("a member name in double quotes"));
        }
        let start = self.at + 1;
        let escaped = self.string()?;
        Ok(Key { start, end: self.at - 1, escaped })
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.at += usize::from(self.peek() == b'-');
        match self.peek() {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.digits()?;
        }
        if self.at - start > self.limits.number {
            return Err(Fault::Number(self.limits.number));
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Fault> {
        let rest = &self.text[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    /// Checks that only white space follows and, where there is need, that the text is UTF-8.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.expected("the end of the text"));
        }
        if self.has_non_ascii
            && let Err(error) = std::str::from_utf8(self.text)
        {
            return Err(Fault::Syntax("valid UTF-8", error.valid_up_to()));
        }
        Ok(())
    }
}

impl Drop for Scanner<'_> {
    fn drop(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.levels.clear();
        scratch.keys.clear();
        if scratch.keys.capacity() <= SCRATCH_KEPT && scratch.levels.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(), Fault>) {
        let limits = Limits { depth: 3, members: 4, number: 8, ..Limits::default() };
        assert_eq!(validate(text.as_bytes(), &limits).map(|_| ()), expected, "{text}");
    }

    #[test]
    fn json_is_accepted_and_nothing_else() {
        // J2-55
        for good in
            ["0", "-0", "1.5e+7", "\"\\u00e9\\/\"", "[]", "{}", " [1, {\"a\":[]}] ", "null", "true", "false"]
        {
            check(good, Ok(()));
        }
        for (bad, expected, at) in [
            ("", "a value", 0),
            ("01", "the end of the text", 1),
            ("+1", "a value", 0),
            (".5", "a value", 0),
            ("5.", "a digit", 2),
            ("1e", "a digit", 2),
            ("[1,]", "a value", 3),
            ("[,1]", "a value", 1),
            ("[1 2]", "',' or ']'", 3),
            ("{a:1}", "a member name in double quotes", 1),
            ("{\"a\" 1}", "':'", 5),
            ("{\"a\":1,}", "a member name in double quotes", 7),
            ("[1}", "',' or ']'", 2),
            ("nul", "a value", 0),
            ("1 2", "the end of the text", 2),
        ] {
            check(bad, Err(Fault::Syntax(expected, at)));
        }
    }

    #[test]
    fn each_limit_lets_its_value_pass_and_refuses_one_more() {
        check("[[[]]]", Ok(()));
        check("[[[[]]]]", Err(Fault::Depth(3)));
        check("[1,2,3,4]", Ok(()));
        check("[1,2,3,4,5]", Err(Fault::Members(4)));
        check("12345678", Ok(()));
        check("123456789", Err(Fault::Number(8)));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused_wherever_they_stand() {
        // J2-60
        let limits = Limits::default();
        for bad in
            [&b"\"\xff\""[..], b"\"\xc0\xaf\"", b"\"\xed\xa0\x80\"", b"\"abcdefgh\x80\"", b"\xef\xbb\xbf1"]
        {
            assert!(matches!(validate(bad, &limits), Err(Fault::Syntax(..))), "{bad:?}");
        }
        assert!(validate("\"é漢😀 and a longer tail\"".as_bytes(), &limits).is_ok());
    }

    #[test]
    fn a_name_given_twice_is_noticed_at_every_depth() {
        // J2-64, SEC-J-01
        let limits = Limits::default();
        for (text, expected) in [
            (r#"{"a":1,"b":2}"#, false),
            (r#"{"a":1,"a":2}"#, true),
            (r#"[{"x":{"a":1,"b":{"a":3},"a":2}}]"#, true),
            (r#"{"a":{"a":{"a":1}}}"#, false),
            (r#"{"\u0061":1,"a":2}"#, true),
        ] {
            let mut scanner = Scanner::new(text.as_bytes(), &limits);
            scanner.value().unwrap();
            assert_eq!(scanner.has_duplicate, expected, "{text}");
        }
    }
}
