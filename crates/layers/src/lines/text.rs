//! Texts that callers chose, in lines.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The most characters of a text that a caller may have chosen.
pub(crate) const TEXT: usize = 128;

/// The beginning of a text that may be long.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    // Fewer bytes are fewer characters, which is cheaper to see.
    if text.len() <= TEXT {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(TEXT) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
    }
}

/// JSON as ASCII. JSON escapes only the ASCII controls; other characters can control a terminal, or turn a line around.
pub(crate) fn ascii(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        line.push_str(json);
        return line;
    }
    for character in json.chars() {
        match character {
            ' '..='~' => line.push(character),
            _ => push_escape(&mut line, character),
        }
    }
    line
}

fn push_escape(line: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(line, "\\u{unit:04x}");
    }
}

/// Adds a text as a JSON string in ASCII, short if it is a long one.
#[cfg(feature = "log")]
#[inline]
pub(crate) fn push_json_string(line: &mut Vec<u8>, text: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    line.push(b'"');
    if text.len() <= TEXT && text.iter().all(is_plain) {
        line.extend_from_slice(text);
    } else {
        push_escaped(line, &shortened(&String::from_utf8_lossy(text)));
    }
    line.push(b'"');
}

/// Adds a text with escapes, of any length.
#[cfg(feature = "log")]
pub(crate) fn push_escaped(line: &mut Vec<u8>, text: &str) {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            ' '..='~' => escaped.push(character),
            _ => push_escape(&mut escaped, character),
        }
    }
    line.extend_from_slice(escaped.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "é".repeat(TEXT + 1);
        assert_eq!(shortened(&text), format!("{}...", "é".repeat(TEXT)));
        assert_eq!(shortened(&text[2..]), text[2..]);
    }

    #[cfg(feature = "log")]
    proptest::proptest! {
        #[test]
        fn a_json_string_is_ascii_and_reads_as_the_text(text in ".{0,300}") {
            let mut line = Vec::new();
            push_json_string(&mut line, text.as_bytes());
            proptest::prop_assert!(line.iter().all(|byte| matches!(byte, b' '..=b'~')));
            proptest::prop_assert_eq!(serde_json::from_slice::<String>(&line).unwrap(), shortened(&text));
        }
    }
}
