//! Text that cannot command a terminal, nor turn around or hide what it shows.
//!
//! What a server sent may be anything. [`visible`] writes it so that each harmful character is seen, as JSON escapes it; within
//! a string of JSON the value stays the same. Everything that goes to a terminal passes [`harmless`] last, in `output` and in
//! the logs, so that a text which missed [`visible`] does no harm either. A pipe gets the bytes as they are.

use std::borrow::Cow;

/// A text of the server without what could command a terminal, on one line.
pub(crate) fn visible(text: &str) -> String {
    written(text, |_| false, false).into_owned()
}

/// A page of this program, as a terminal gets it: with its lines and its colours, and nothing else that commands.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    written(text, |c| matches!(c, '\n' | '\t'), true)
}

/// One line with its colours, and nothing else that commands.
pub(crate) fn harmless_line(text: &str) -> Cow<'_, str> {
    written(text, |_| false, true)
}

/// The text with harmful characters escaped, apart from those that are kept.
fn written(text: &str, is_kept: fn(char) -> bool, keeps_colours: bool) -> Cow<'_, str> {
    let is_bad = |c: char| is_harmful(c) && !is_kept(c);
    if !text.chars().any(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(is_bad) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = if keeps_colours { colour_length(rest) } else { 0 };
        if colour > 0 {
            out.push_str(&rest[..colour]);
            rest = &rest[colour..];
            continue;
        }
        let mut chars = rest.chars();
        if let Some(c) = chars.next() {
            escape(c, &mut out);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the sequence that sets colours and styles (SGR), if the text begins with one.
fn colour_length(text: &str) -> usize {
    let Some(after) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = after.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if after.as_bytes().get(length) == Some(&b'm') { length + 3 } else { 0 }
}

/// As JSON has it: in two halves beyond the first 65,536.
fn escape(c: char, out: &mut String) {
    for half in c.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{half:04x}"));
    }
}

/// Whether a character controls a terminal, changes the direction of text, breaks a line, or is invisible.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{2028}' | '\u{2029}'
            // Joiners (U+200C and U+200D) are left: writing systems and emoji need them.
            | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_written_as_json_escapes_them() {
        let check = |text: &str, expected: &str| assert_eq!(visible(text), expected);
        check("plain é 日本 👩\u{200d}👧", "plain é 日本 👩\u{200d}👧");
        check("\u{9b}31m\u{202e}x\u{7f}é", r"\u009b31m\u202ex\u007fé");
        check("a\nb\tc\r\u{1b}[31m", r"a\u000ab\u0009c\u000d\u001b[31m");
        check("\u{61c}\u{200f}\u{2067}\u{2028}\u{2029}", r"\u061c\u200f\u2067\u2028\u2029");
        check("\u{200b}\u{feff}\u{2060}\u{e0041}", r"\u200b\ufeff\u2060\udb40\udc41");
    }

    #[test]
    fn an_escape_in_a_string_of_json_keeps_the_value() {
        let text: String = (0..=0x10_ffff).step_by(7).filter_map(char::from_u32).collect();
        let json = serde_json::to_string(&text).unwrap();
        let shown = harmless(&json);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert!(!shown.contains(is_harmful));
    }

    #[test]
    fn a_page_keeps_lines_and_colours_only() {
        let check = |text: &str, expected: &str| assert_eq!(harmless(text), expected);
        check("a\tb\n\u{1b}[1m\u{1b}[38;5;7mc\u{1b}[0m", "a\tb\n\u{1b}[1m\u{1b}[38;5;7mc\u{1b}[0m");
        check("\u{1b}[2J\u{1b}]0;t\u{7}\r\u{1b}", r"\u001b[2J\u001b]0;t\u0007\u000d\u001b");
        check("\u{1b}[?25m\u{9b}1m", r"\u001b[?25m\u009b1m");
        assert_eq!(harmless_line("a\nb\u{1b}[1m"), "a\\u000ab\u{1b}[1m");
    }
}
