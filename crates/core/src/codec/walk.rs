//! Walking over the parts of a text that was checked before, without reading them.

use std::borrow::Cow;

use memchr::memchr2;

use crate::codec::string::{special_bytes, unescape};

/// The elements of an array, as raw texts. Anything but an array has none.
#[inline(always)]
pub(crate) fn elements(json: &[u8]) -> Elements<'_> {
    Elements { rest: json.strip_prefix(b"[").unwrap_or_default() }
}

/// The members of an object, as names without escapes and raw values. Anything but an object has none.
pub(crate) fn members(json: &[u8]) -> MemberWalk<'_> {
    MemberWalk(Elements { rest: json.strip_prefix(b"{").unwrap_or_default() })
}

/// A walk over the members of an object.
pub(crate) struct MemberWalk<'a>(Elements<'a>);

impl<'a> Iterator for MemberWalk<'a> {
    type Item = (Cow<'a, [u8]>, &'a [u8]);

    /// To the walk a member is two elements: separators are passed over, whichever they are.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.next()?;
        let name = &name[1..name.len() - 1];
        let name = if name.contains(&b'\\') { unescape(name).into() } else { name.into() };
        Some((name, self.0.next()?))
    }
}

/// The members of an object as they are written: names with their quotes, and values.
pub(crate) fn written_members(json: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut walk = Elements { rest: json.strip_prefix(b"{").unwrap_or_default() };
    std::iter::from_fn(move || Some((walk.next()?, walk.next()?)))
}

/// A walk over the elements of an array.
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    /// The next value, past whatever separates it from the one before.
    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest;
        while let [b',' | b':' | b' ' | b'\t' | b'\n' | b'\r', after @ ..] = rest {
            rest = after;
        }
        let len = match rest.first()? {
            b']' | b'}' => return None,
            b'"' => string_len(rest),
            b'[' | b'{' => container_len(rest),
            _ => scalar_len(rest),
        };
        let (value, rest) = rest.split_at(len);
        self.rest = rest;
        Some(value)
    }
}

/// The length of a number or literal: it goes on until white space, a comma, or a closing bracket of either kind, which
/// differ in one bit.
#[inline]
fn scalar_len(rest: &[u8]) -> usize {
    let ends = |byte: &u8| *byte <= b' ' || *byte == b',' || *byte | 0x20 == b'}';
    rest.iter().position(ends).unwrap_or(rest.len())
}

/// The length of a string with its quotes. Most are short: then eight bytes at once tell all. There are no control characters in a
/// checked string.
#[inline]
fn string_len(rest: &[u8]) -> usize {
    if let Some(word) = rest.get(1..).and_then(<[u8]>::first_chunk) {
        let stop = special_bytes(u64::from_le_bytes(*word));
        let end = 1 + stop.trailing_zeros() as usize / 8;
        if stop != 0 && rest.get(end) == Some(&b'"') {
            return end + 1;
        }
    }
    long_string_len(rest)
}

#[inline(never)]
fn long_string_len(rest: &[u8]) -> usize {
    let mut at = 1;
    loop {
        let Some(stop) = rest.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
            return rest.len();
        };
        at += stop;
        if rest[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
}

fn container_len(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = rest.get(at) {
        if byte == b'"' {
            at += string_len(&rest[at..]);
            continue;
        }
        at += 1;
        // The brackets of both kinds differ in one bit.
        match byte | 0x20 {
            b'{' => depth += 1,
            b'}' if depth == 1 => break,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_as_they_are_written() {
        let check = |json: &str, expected: &[&str]| {
            let found: Vec<_> = elements(json.as_bytes()).map(|raw| str::from_utf8(raw).unwrap()).collect();
            assert_eq!(found, expected, "{json}");
        };
        check("[]", &[]);
        check(
            "[ 1 , \"a,]\\\"\" ,{\"x\":[1,{}]},[[]], null]",
            &["1", "\"a,]\\\"\"", "{\"x\":[1,{}]}", "[[]]", "null"],
        );
        check("{\"a\":1}", &[]);
        check("7", &[]);
    }

    #[test]
    fn a_string_of_any_length_ends_at_its_quote() {
        for length in 0..40 {
            for escape in ["", "\\\"", "\\\\"] {
                let text = format!("\"{}{escape}{}\"", "a".repeat(length), "é".repeat(length % 7));
                assert_eq!(string_len(format!("{text},\"b\"]").as_bytes()), text.len(), "{text}");
            }
        }
    }

    #[test]
    fn members_come_with_their_names_read() {
        let json = br#"{ "a" : 1,"\u0062":{"c":"}"} , "d":[2,3]}"#;
        let found: Vec<_> = members(json)
            .map(|(name, raw)| (String::from_utf8(name.into_owned()).unwrap(), str::from_utf8(raw).unwrap()))
            .collect();
        let expected = [("a", "1"), ("b", "{\"c\":\"}\"}"), ("d", "[2,3]")];
        assert_eq!(found, expected.map(|(name, raw)| (name.to_owned(), raw)));
    }
}
