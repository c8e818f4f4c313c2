//! The scanner: checks JSON and finds where values end.
//!
//! It accepts exactly the texts of RFC 8259 that are valid UTF-8, without lone surrogates, within the [`Limits`]. It
//! reads each byte once and keeps its own stack, so that time and memory are proportional to the length
//! of the input.

use std::cell::Cell;
use std::fmt;

use crate::code::Code;
use crate::codec::keys::{self, Key};
use crate::error::ErrorObject;
use crate::limits::Limits;

/// A part of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// Why a whole frame is rejected.
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
    let start = scanner.skip_space(0);
    let end = scanner.value(start).and_then(|end| scanner.finish(end).map(|()| end));
    end.map(|end| Span { start, end }).map_err(|refused| scanner.fault(refused))
}

/// The scan cannot go on; the scanner knows why. It holds nothing so that going on costs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused;

/// A container that the scan has entered.
#[derive(Clone, Copy)]
struct Level {
    /// The byte that ends it, which also tells what it is.
    closer: u8,
    /// How many members or elements it has so far.
    count: usize,
    /// Where its names begin in the list of names.
    first_key: usize,
    /// One bit for each name so far. Names that are the same have the same bit.
    marks: u64,
    /// Whether two names had the same bit, so that they must be compared.
    is_suspect: bool,
}

/// Lists that are used again by the next scan on this thread, so that scanning does not allocate.
#[derive(Default)]
struct Scratch {
    /// The containers around the innermost one.
    outer: Vec<Level>,
    /// The names of the members of all of them.
    keys: Vec<Key>,
}

/// How many numbers are few.
const FEW: usize = 4;

/// Scratch lists longer than this are given back to the allocator.
const SCRATCH_KEPT: usize = 4096;

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch { outer: Vec::new(), keys: Vec::new() }) };
}

/// One pass over one text. Each step takes a place in the text and gives the place after what it went past.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    /// Whether a byte above 127 was seen inside a string: then the text's UTF-8 is checked at the end.
    pub(super) has_non_ascii: bool,
    /// Whether an escape was seen since this was last cleared.
    pub(super) has_escape: bool,
    /// Whether an object with a name given twice was seen since this was last cleared.
    pub(super) has_duplicate: bool,
    /// How deep the value being scanned stands, for the depth limit.
    pub(super) outer_depth: usize,
    limits: &'a Limits,
    scratch: Option<Scratch>,
    fault: Fault,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8], limits: &'a Limits) -> Scanner<'a> {
        Scanner {
            text,
            has_non_ascii: false,
            has_escape: false,
            has_duplicate: false,
            outer_depth: 0,
            limits,
            scratch: None,
            fault: Fault::Syntax("a value", 0),
        }
    }

    /// The byte at a place; 0, which no token begins with, at the end.
    #[inline(always)]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        while self.byte(at) <= b' ' && matches!(self.byte(at), b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
        }
        at
    }

    /// Notes what is wrong with the text.
    #[cold]
    pub(super) fn expected(&mut self, what: &'static str, at: usize) -> Refused {
        self.refuse(Fault::Syntax(what, at))
    }

    #[cold]
    pub(super) fn refuse(&mut self, fault: Fault) -> Refused {
        self.fault = fault;
        Refused
    }

    /// Why the scan could not go on.
    pub(super) fn fault(&self, _: Refused) -> Fault {
        self.fault
    }

    /// Goes past a colon and the white space around it.
    #[inline(always)]
    pub(super) fn colon(&mut self, at: usize) -> Result<usize, Refused> {
        let at = self.skip_space(at);
        if self.byte(at) != b':' {
            return Err(self.expected("':'", at));
        }
        Ok(self.skip_space(at + 1))
    }

    /// Goes past one value.
    #[inline]
    pub(super) fn value(&mut self, at: usize) -> Result<usize, Refused> {
        match self.byte(at) {
            b'"' => self.string(at),
            b'{' | b'[' => self.container(at),
            b'-' | b'0'..=b'9' => self.number(at),
            _ => self.literal(at),
        }
    }

    /// Goes past an array or object.
    #[inline]
    fn container(&mut self, start: usize) -> Result<usize, Refused> {
        match self.few_numbers(start) {
            Some(end) => Ok(end),
            None => self.any_container(start),
        }
    }

    /// The end of an array of a few short numbers, which parameters often are. `None` says nothing about what else it
    /// may be.
    #[inline(always)]
    fn few_numbers(&self, start: usize) -> Option<usize> {
        if self.byte(start) != b'[' || self.outer_depth >= self.limits.depth {
            return None;
        }
        let mut at = start + 1;
        for _ in 0..self.limits.members.min(FEW) {
            at = self.short_number(at)?;
            match self.byte(at) {
                b',' => at += 1,
                b']' => return Some(at + 1),
                _ => return None,
            }
        }
        None
    }

    /// Goes past an array or object, however deep, with its own stack.
    fn any_container(&mut self, start: usize) -> Result<usize, Refused> {
        let mut level = self.open(start, self.outer_depth)?;
        let mut at = start + 1;
        loop {
            at = self.skip_space(at);
            let byte = self.byte(at);
            if byte == level.closer {
                at += 1;
                if level.closer == b'}' {
                    self.close_object(&level);
                }
                match self.scratch.as_mut().and_then(|scratch| scratch.outer.pop()) {
                    Some(outer) => level = outer,
                    None => return Ok(at),
                }
                continue;
            }
            if level.count > 0 {
                if byte != b',' {
                    let what = if level.closer == b'}' { "',' or '}'" } else { "',' or ']'" };
                    return Err(self.expected(what, at));
                }
                at = self.skip_space(at + 1);
            }
            level.count += 1;
            if level.count > self.limits.members {
                return Err(self.refuse(Fault::Members(self.limits.members)));
            }
            if level.closer == b'}' {
                let key = self.key(at)?;
                let mark = key.mark(self.text);
                level.is_suspect |= level.marks & mark != 0;
                level.marks |= mark;
                self.scratch().keys.push(key);
                at = self.colon(key.end + 1)?;
            }
            match self.byte(at) {
                b'"' => at = self.string(at)?,
                b'{' | b'[' => {
                    let depth = self.push(level);
                    level = self.open(at, self.outer_depth + depth)?;
                    at += 1;
                }
                b'-' | b'0'..=b'9' => at = self.number(at)?,
                _ => at = self.literal(at)?,
            }
        }
    }

    /// Enters the array or object that begins here, `depth` levels down.
    #[inline]
    fn open(&mut self, at: usize, depth: usize) -> Result<Level, Refused> {
        if depth >= self.limits.depth {
            return Err(self.refuse(Fault::Depth(self.limits.depth)));
        }
        let closer = if self.byte(at) == b'{' { b'}' } else { b']' };
        let first_key = self.scratch.as_ref().map_or(0, |scratch| scratch.keys.len());
        Ok(Level { closer, count: 0, first_key, marks: 0, is_suspect: false })
    }

    /// Keeps a container while one inside it is scanned; tells how deep that makes it.
    #[inline]
    fn push(&mut self, level: Level) -> usize {
        let outer = &mut self.scratch().outer;
        outer.push(level);
        outer.len()
    }

    #[inline]
    fn close_object(&mut self, level: &Level) {
        let text = self.text;
        if let Some(scratch) = &mut self.scratch {
            if level.is_suspect {
                self.has_duplicate |= keys::has_duplicate(text, &mut scratch.keys[level.first_key..]);
            }
            scratch.keys.truncate(level.first_key);
        }
    }

    #[inline]
    fn scratch(&mut self) -> &mut Scratch {
        self.scratch.get_or_insert_with(|| SCRATCH.take())
    }

    /// Goes past the name of a member, which ends one byte before its closing quote.
    #[inline]
    pub(super) fn key(&mut self, at: usize) -> Result<Key, Refused> {
        if self.byte(at) != b'"' {
            return Err(self.expected("a member name in double quotes", at));
        }
        self.has_escape = false;
        let end = self.string(at)?;
        Ok(Key { start: at + 1, end: end - 1, escaped: self.has_escape })
    }

    /// Goes past `true`, `false` or `null`.
    fn literal(&mut self, at: usize) -> Result<usize, Refused> {
        let rest = self.text.get(at..).unwrap_or_default();
        match rest {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => Ok(at + 4),
            [b'f', b'a', b'l', b's', b'e', ..] => Ok(at + 5),
            _ => Err(self.expected("a value", at)),
        }
    }

    /// Goes past a number.
    #[inline(always)]
    fn number(&mut self, start: usize) -> Result<usize, Refused> {
        match self.short_number(start) {
            Some(end) => Ok(end),
            None => self.any_number(start),
        }
    }

    /// The end of a whole number of up to seven digits with a separator after it, which nearly all numbers of nearly all
    /// messages are. `None` says nothing about what else it may be.
    #[inline(always)]
    fn short_number(&self, start: usize) -> Option<usize> {
        let rest = self.text.get(start..)?;
        let word = rest.first_chunk().copied().unwrap_or_else(|| padded(rest));
        // Digits become 0 to 9; what is more overflows into the highest bit of its byte, or has it already.
        let digits = u64::from_le_bytes(word) ^ 0x3030_3030_3030_3030;
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let length = (others.trailing_zeros() / 8) as usize;
        let follows = *word.get(length)?;
        let is_plain = length == 1 || (length > 1 && word[0] != b'0');
        (is_plain && length <= self.limits.number && matches!(follows, b',' | b']' | b'}'))
            .then_some(start + length)
    }

    fn any_number(&mut self, start: usize) -> Result<usize, Refused> {
        let first = if self.byte(start) == b'-' { start + 1 } else { start };
        let mut at = if self.byte(first) == b'0' { first + 1 } else { self.digits(first)? };
        if self.byte(at) == b'.' {
            at = self.digits(at + 1)?;
        }
        if matches!(self.byte(at), b'e' | b'E') {
            at = if matches!(self.byte(at + 1), b'+' | b'-') { at + 2 } else { at + 1 };
            at = self.digits(at)?;
        }
        if at - start > self.limits.number {
            return Err(self.refuse(Fault::Number(self.limits.number)));
        }
        Ok(at)
    }

    #[inline(always)]
    fn digits(&mut self, start: usize) -> Result<usize, Refused> {
        let mut at = start;
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        if at == start {
            return Err(self.expected("a digit", at));
        }
        Ok(at)
    }

    /// Checks that only white space follows and, where there is need, that the text is UTF-8.
    pub(super) fn finish(&mut self, at: usize) -> Result<(), Refused> {
        let at = self.skip_space(at);
        if at < self.text.len() {
            return Err(self.expected("the end of the input", at));
        }
        if self.has_non_ascii
            && let Err(error) = std::str::from_utf8(self.text)
        {
            return Err(self.expected("valid UTF-8", error.valid_up_to()));
        }
        Ok(())
    }
}

/// Fewer than eight bytes, with zeros after them.
#[inline(always)]
fn padded(short: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(short) {
        *to = *from;
    }
    word
}

impl Drop for Scanner<'_> {
    fn drop(&mut self) {
        if let Some(mut scratch) = self.scratch.take()
            && scratch.keys.capacity() <= SCRATCH_KEPT
            && scratch.outer.capacity() <= SCRATCH_KEPT
        {
            scratch.outer.clear();
            scratch.keys.clear();
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
            ("01", "the end of the input", 1),
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
            ("1 2", "the end of the input", 2),
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
            scanner.value(0).unwrap();
            assert_eq!(scanner.has_duplicate, expected, "{text}");
        }
    }
}
