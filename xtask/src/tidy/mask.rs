//! Rust source with everything blanked that is not code, or everything that is: comments, strings and characters.
//!
//! What remains has the same lines, so that rules can search it for words and braces and still name the line.

/// Stands for code that is blanked, so that texts before and after it are not read as one.
pub(super) const CODE: char = '\u{1f}';

/// The text with comments, strings and characters replaced by blanks.
pub(super) fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match end_of_opaque(bytes, at) {
            Some(end) => {
                let opaque = code[at..end].iter_mut().filter(|byte| **byte != b'\n');
                opaque.for_each(|byte| *byte = b' ');
                at = end;
            }
            None => at += 1,
        }
    }
    String::from_utf8(code)
        .expect("only whole literals and comments, which end in ASCII or a line, are blanked")
}

/// The text of doc comments and strings, with all else blanked.
pub(super) fn texts_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut texts = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = end_of_opaque(bytes, at).unwrap_or(at + 1);
        let part = &bytes[at..end];
        match part {
            [b'/', b'/', b'/' | b'!', rest @ ..] => texts.extend_from_slice(rest),
            [b'"' | b'r', _, ..] => {
                texts.push(CODE as u8);
                texts.extend_from_slice(part);
                texts.push(CODE as u8);
            }
            _ => {
                let blank = |byte: &u8| if byte.is_ascii_whitespace() { *byte } else { CODE as u8 };
                texts.extend(part.iter().map(blank));
            }
        }
        at = end;
    }
    String::from_utf8(texts).expect("comments and literals are kept or blanked as a whole")
}

/// Where the comment or literal that begins here ends; nothing if none does.
fn end_of_opaque(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let length = match rest {
        [b'/', b'/', ..] => line_comment(rest),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'\'', ..] => character(rest)?,
        [b'r', b'#' | b'"', ..] if !continues_word(bytes, at) => raw_string(rest)?,
        _ => return None,
    };
    Some((at + length).min(bytes.len()))
}

fn line_comment(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// From a quote to the next one that no backslash precedes.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character, or nothing if the quote begins a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    let first = *rest.get(1)?;
    if first == b'\\' {
        return Some(quoted(rest, b'\''));
    }
    let width = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// `r"…"`, `r#"…"#` and so on, or nothing if this is a raw identifier.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let body = 2 + hashes;
    let is_end = |at: &usize| {
        rest[*at] == b'"'
            && rest[*at + 1..].iter().take(hashes).filter(|byte| **byte == b'#').count() == hashes
    };
    Some((body..rest.len()).find(is_end).map_or(rest.len(), |at| at + 1 + hashes))
}

/// Whether the letter here belongs to a longer word. The prefixes `b` and `c` of raw strings do not count.
fn continues_word(bytes: &[u8], at: usize) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let before = |back: usize| at.checked_sub(back).is_some_and(|at| is_part(bytes[at]));
    let is_prefix = before(1) && matches!(bytes[at - 1], b'b' | b'c') && !before(2);
    before(1) && !is_prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code that remains, with a run of blanks as one.
    fn check(text: &str, expected: &str) {
        let code = code_only(text);
        assert_eq!(code.len(), text.len(), "{text}");
        let lines = code.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected, "{text}");
    }

    #[test]
    fn comments_are_blanked_and_lines_stay() {
        check("a // b\nc", "a\nc");
        check("a /* b /* c\n */ d */ e", "a\ne");
    }

    #[test]
    fn strings_are_blanked_with_their_escapes() {
        check(r#"f("a\"b", c)"#, "f( , c)");
        check(r##"f(r#"a"b"#, c)"##, "f( , c)");
        check(r#"f(br"\", c)"#, "f(b , c)");
        check("\"é\"x", "x");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        check(r"a '{' 'é' '\'' '\u{7d}' b", "a b");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn texts_are_doc_comments_and_strings() {
        let texts = texts_only("//! A é.\n/// B.\n// c\nf(\"d\", r#\"e\"#, 'g');");
        let words = |line: &str| line.replace(CODE, " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(texts.lines().map(words).collect::<Vec<_>>(), ["A é.", "B.", "", "\"d\" r#\"e\"#"]);
    }

    #[test]
    fn raw_identifiers_are_code() {
        check("let r#fn = for_r\"x\";", "let r#fn = for_r ;");
    }

    #[test]
    fn what_never_ends_is_blanked_to_the_end() {
        for text in ["a \"b", "a /* b", "a r#\"b\"", "a \"\\", "a '\\"] {
            check(text, "a");
        }
    }
}
