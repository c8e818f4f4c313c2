//! The forms of single values.

/// A token of RFC 9110, such as the name of a header.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// A name that all hosts accept.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// A type with its subtype, with or without parameters.
pub(super) fn is_media_type(text: &str) -> bool {
    let essence = text.split_once(';').map_or(text, |(essence, _)| essence).trim_end();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// The scopes of an OAuth token (RFC 6749, section 3.3).
pub(super) fn is_scope(text: &str) -> bool {
    text.split(' ').all(|scope| {
        !scope.is_empty() && scope.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_right: fn(&str) -> bool, right: &[&str], wrong: &[&str]) {
        for text in right {
            assert!(is_right(text), "{text:?}");
        }
        for text in wrong {
            assert!(!is_right(text), "{text:?}");
        }
    }

    #[test]
    fn a_token_has_no_separators() {
        check(is_token, &["Region", "x-1", "a|b"], &["", "my region", "a:b", "a/b", "é", "a\n"]);
    }

    #[test]
    fn a_name_has_letters_digits_and_two_marks() {
        check(is_name, &["a", "math_add-2", &"a".repeat(64)], &["", "math/add", "math.add", &"a".repeat(65)]);
    }

    #[test]
    fn a_media_type_has_two_parts_and_maybe_parameters() {
        let right = ["text/markdown", "application/ld+json", "text/plain; charset=utf-8"];
        check(is_media_type, &right, &["", "text", "text/", "/plain", "text/a/b", "text /plain"]);
    }

    #[test]
    fn scopes_are_separated_by_one_space() {
        check(is_scope, &["admin", "bookings:write bookings:read"], &["", " ", "a  b", "a ", "\"a\"", "é"]);
    }
}
