//! W3C Baggage: what a caller says about everything that happens for it.

use std::borrow::Cow;

/// The limits of the specification (OBS-T-06).
const MEMBERS: usize = 64;
const BYTES: usize = 8192;

/// The members of a `baggage` with their decoded values. Members that are not valid are skipped.
pub(super) fn members(text: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let text = if text.len() <= BYTES { text } else { "" };
    text.split(',').take(MEMBERS).filter_map(|member| {
        // What follows a semicolon are properties.
        let (key, value) = member.split(';').next()?.split_once('=')?;
        let (key, value) = (key.trim_ascii(), value.trim_ascii());
        let is_token = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| decoded(value)).flatten().map(|value| (key, value))
    })
}

/// A value without its percent-encoding. None if that is not text.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    if !value.contains('%') {
        return Some(value.into());
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        (rest, bytes) = match (first, hex) {
            (b'%', Some(byte)) => (&after[2..], [&bytes[..], &[byte]].concat()),
            (byte, _) => (after, [&bytes[..], &[*byte]].concat()),
        };
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // OBS-T-06
    #[test]
    fn members_are_decoded_and_wrong_ones_skipped() {
        let text = "session.id=abc%20d, user.id = J%C3%BCrgen;private , bad, =x, odd=100%, last=%ff";
        let found: Vec<_> = members(text).collect();
        let expected = [("session.id", "abc d"), ("user.id", "Jürgen"), ("odd", "100%")];
        assert_eq!(found, expected.map(|(key, value)| (key, Cow::from(value))));
        let many = (0..100).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert_eq!(members(&many).count(), 64);
        assert_eq!(members(&format!("a={}", "x".repeat(9_000))).count(), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}|([a-z=%;, 0-9]{0,200})") {
            prop_assert!(members(&text).all(|(key, _)| text.contains(key)));
        }
    }
}
