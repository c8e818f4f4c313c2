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
    push_ascii(&mut line, json);
    line
}

fn push_ascii(line: &mut String, json: &str) {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return line.push_str(json);
    }
    for character in json.chars() {
        match character {
            ' '..='~' => line.push(character),
            _ => character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(line, "\\u{unit:04x}");
            }),
        }
    }
}

/// Adds a text as a JSON string in ASCII.
#[cfg(feature = "log")]
pub(crate) fn push_json_string(line: &mut String, text: &str) {
    line.push('"');
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        line.push_str(text);
    } else {
        for character in text.chars() {
            match character {
                '"' | '\\' => line.extend(['\\', character]),
                _ => push_ascii(line, character.encode_utf8(&mut [0; 4])),
            }
        }
    }
    line.push('"');
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
        fn a_json_string_is_ascii_and_reads_as_the_text(text in ".*") {
            let mut line = String::new();
            push_json_string(&mut line, &text);
            proptest::prop_assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
