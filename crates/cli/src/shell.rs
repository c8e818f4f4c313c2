//! Words as a shell reads them, for commands to copy.

/// The word, in quotes if a shell would take it apart or expand something in it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:@,+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A command line of these words.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        assert_eq!(line(["call", "http://h:1", "math/add", "a=2"]), "call http://h:1 math/add a=2");
        assert_eq!(
            line(["tcp://h:1?framing=lsp", "a b", "", "it's"]),
            r"'tcp://h:1?framing=lsp' 'a b' '' 'it'\''s'"
        );
    }
}
