//! A line of words: a method and its parameters as one writes them, without a shell to take them apart.
//!
//! Words end at white space, unless it stands in quotes or brackets, so that JSON can be written as it is:
//!
//! ```text
//! math/add a=2 b=3
//! echo message="two words" {"a": [1, 2]}
//! echo 'as it is'
//! ```

use crate::failure::Failure;

/// Takes a line apart. Double quotes stay, for they make a JSON string; single quotes are taken off, as a shell does.
pub(crate) fn split(line: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = first(rest)?;
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

/// The first word, and what follows it.
fn first(line: &str) -> Result<(String, &str), Failure> {
    let mut word = String::new();
    let mut open = Vec::new();
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c.is_whitespace() && open.is_empty() => return Ok((word, &line[at..])),
            '"' => quoted(&mut chars, &mut word)?,
            '\'' if open.is_empty() => {
                let end = line[at + 1..].find('\'').ok_or_else(|| unclosed('\''))?;
                let inside = &line[at + 1..at + 1 + end];
                word.push_str(inside);
                // Up to the quote that closes it.
                chars.by_ref().take(inside.chars().count() + 1).for_each(drop);
            }
            '[' | '{' => {
                open.push(c);
                word.push(c);
            }
            ']' | '}' => {
                open.pop();
                word.push(c);
            }
            other => word.push(other),
        }
    }
    match open.pop() {
        Some(bracket) => Err(unclosed(bracket)),
        None => Ok((word, "")),
    }
}

/// The rest of a JSON string.
fn quoted(chars: &mut std::str::CharIndices<'_>, word: &mut String) -> Result<(), Failure> {
    word.push('"');
    let mut is_escaped = false;
    for (_, c) in chars {
        word.push(c);
        if c == '"' && !is_escaped {
            return Ok(());
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    Err(unclosed('"'))
}

fn unclosed(opening: char) -> Failure {
    Failure::usage(format!("the {opening} is not closed")).advise("close it on the same line")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_white_space_outside_of_quotes_and_brackets() {
        let check = |line: &str, expected: &[&str]| assert_eq!(split(line).unwrap(), expected, "{line}");
        check("math/add a=2 b=3", &["math/add", "a=2", "b=3"]);
        check("  a\t b ", &["a", "b"]);
        check("", &[]);
        check(r#"echo message="two words""#, &["echo", r#"message="two words""#]);
        check(r#"echo "a \" b" c"#, &["echo", r#""a \" b""#, "c"]);
        check(r#"add {"a": [1, 2], "b c": "} "} x"#, &["add", r#"{"a": [1, 2], "b c": "} "}"#, "x"]);
        check("echo 'as it \"is' é='ü ö'x", &["echo", "as it \"is", "é=ü öx"]);
        check("echo ''", &["echo", ""]);
        check("echo a]b c", &["echo", "a]b", "c"]);
    }

    #[test]
    fn what_is_opened_is_closed() {
        for line in ["echo \"a", "echo 'a", "echo [1, 2", "echo {\"a\": \"}"] {
            assert!(split(line).is_err(), "{line}");
        }
    }
}
