//! Patterns over the names of methods.

use std::fmt;
use std::str::FromStr;

/// A pattern over the names of methods: `*` stands for any text within a segment, `**` for any number of segments, and `/` separates
/// segments. Case matters.
///
/// # Examples
///
/// ```
/// use switchboard_layers::Pattern;
///
/// let pattern: Pattern = "math/*".parse()?;
/// assert!(pattern.matches("math/add") && !pattern.matches("math/matrix/add"));
/// assert!("admin/**".parse::<Pattern>()?.matches("admin/users/delete"));
/// assert!("eth_*".parse::<Pattern>()?.matches("eth_call"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    kind: PatternKind,
    /// The length of the text that every matching method starts with.
    stem: usize,
}

/// The common kinds of patterns are compared without looking at segments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternKind {
    Literal,
    /// `**`.
    Anything,
    /// Stars within segments only, so both have as many.
    Segments,
    /// With a `**` among the segments.
    AnyDepth,
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It is empty.
    #[error("a method pattern cannot be empty; `**` matches every method")]
    Empty,
    /// `**` is only a part of a segment.
    #[error("`**` must be a whole segment, as in `admin/**`, but it is a part of `{0}`")]
    PartialDoubleStar(String),
}

impl Pattern {
    /// Whether a method has a matching name.
    #[inline]
    #[must_use]
    pub fn matches(&self, method: impl AsRef<[u8]>) -> bool {
        let method = method.as_ref();
        method.starts_with(&self.text.as_bytes()[..self.stem]) && self.matches_rest(method)
    }

    /// Whether a method matches that begins as it has to.
    #[inline(never)]
    fn matches_rest(&self, method: &[u8]) -> bool {
        let as_text = |matches: fn(&str, &str) -> bool| {
            std::str::from_utf8(method).is_ok_and(|method| matches(&self.text, method))
        };
        match self.kind {
            PatternKind::Literal => method.len() == self.stem,
            PatternKind::Anything => true,
            PatternKind::Segments => as_text(matches_each),
            PatternKind::AnyDepth => as_text(matches_segments),
        }
    }

    /// The one name that it matches, if there is no star in it.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (self.kind == PatternKind::Literal).then_some(&*self.text)
    }

    /// Whether it matches every name.
    #[cfg(feature = "access")]
    pub(crate) fn is_anything(&self) -> bool {
        self.kind == PatternKind::Anything
    }

    /// The first segment of the names that it matches, if there is no star in it.
    #[cfg(feature = "access")]
    pub(crate) fn first_segment(&self) -> Option<&[u8]> {
        let first = first_segment(self.text.as_bytes());
        (!first.contains(&b'*')).then_some(first)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if let Some(segment) = text.split('/').find(|segment| segment.contains("**") && *segment != "**") {
            return Err(PatternError::PartialDoubleStar(segment.to_owned()));
        }
        let kind = match text {
            "**" => PatternKind::Anything,
            _ if text.contains("**") => PatternKind::AnyDepth,
            _ if text.contains('*') => PatternKind::Segments,
            _ => PatternKind::Literal,
        };
        let (stem, rest) = text.split_at(text.find('*').unwrap_or(text.len()));
        // `admin/**` matches `admin`, too.
        let stem = if rest.starts_with("**") { stem.strip_suffix('/').unwrap_or(stem) } else { stem };
        Ok(Pattern { text: text.into(), kind, stem: stem.len() })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The part before the first `/`.
#[cfg(feature = "access")]
pub(crate) fn first_segment(method: &[u8]) -> &[u8] {
    let end = method.iter().position(|byte| *byte == b'/').unwrap_or(method.len());
    &method[..end]
}

/// Matches segment by segment.
fn matches_each(pattern: &str, method: &str) -> bool {
    let (mut patterns, mut segments) = (pattern.split('/'), method.split('/'));
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if matches_text(pattern, segment) => {}
            _ => return false,
        }
    }
}

/// Matches greedily, going back to the last `**` only: so the time is bounded by the product of the lengths.
fn matches_segments(pattern: &str, method: &str) -> bool {
    let (mut patterns, mut segments) = (pattern.split('/'), method.split('/'));
    let mut resume = None;
    loop {
        let rest = segments.clone();
        let Some(segment) = segments.next() else { return patterns.all(|pattern| pattern == "**") };
        match patterns.next() {
            Some("**") => {
                resume = Some((patterns.clone(), segments));
                segments = rest;
            }
            Some(pattern) if matches_text(pattern, segment) => {}
            _ => match &mut resume {
                Some((after, from)) => {
                    (patterns, segments) = (after.clone(), from.clone());
                    from.next();
                }
                None => return false,
            },
        }
    }
}

/// The same within a segment, where `*` stands for any text.
fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((first, pattern)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let (middle, last) = pattern.rsplit_once('*').unwrap_or(("", pattern));
    for part in middle.split('*') {
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let pattern: Pattern = pattern.parse().unwrap();
        for method in matching {
            assert!(pattern.matches(method), "{pattern} {method}");
        }
        for method in others {
            assert!(!pattern.matches(method), "{pattern} {method}");
        }
    }

    #[test]
    fn stars_stay_within_a_segment_and_double_stars_do_not() {
        check("add", &["add"], &["Add", "add/", "math/add", ""]);
        check("math/*", &["math/add", "math/"], &["math", "math/a/b", "Math/add"]);
        check("admin/**", &["admin", "admin/x", "admin/x/y"], &["administrator", "x/admin"]);
        check("**/delete", &["delete", "a/delete", "a/b/delete"], &["a/delete/b", "undelete"]);
        check("a/**/z", &["a/z", "a/b/z", "a/b/c/z", "a/z/z"], &["a", "a/b", "z"]);
        check("eth_*", &["eth_call", "eth_"], &["eth", "net_version", "eth_a/b"]);
        check("*_get*By*", &["eth_getBlockByHash"], &["eth_getBlock", "eth_Byget"]);
        check("a*a", &["aa", "aba"], &["a"]);
        check("**", &["", "a", "a/b"], &[]);
        check("*", &["", "a"], &["a/b"]);
    }

    #[test]
    fn a_double_star_is_a_whole_segment() {
        assert_eq!("a**/b".parse::<Pattern>(), Err(PatternError::PartialDoubleStar("a**".to_owned())));
        assert_eq!("".parse::<Pattern>(), Err(PatternError::Empty));
    }

    /// By definition, trying every way.
    fn oracle(pattern: &[&str], method: &[&str]) -> bool {
        match (pattern, method) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=method.len()).any(|skipped| oracle(rest, &method[skipped..])),
            ([first, rest @ ..], [segment, others @ ..]) => {
                text_oracle(first.as_bytes(), segment.as_bytes()) && oracle(rest, others)
            }
            _ => false,
        }
    }

    fn text_oracle(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|skipped| text_oracle(rest, &text[skipped..])),
            ([first, rest @ ..], [byte, others @ ..]) => first == byte && text_oracle(rest, others),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn every_pattern_matches_what_its_definition_says(
            pattern in prop::collection::vec("(\\*\\*|[ab*]{0,4})", 1..4), method in prop::collection::vec("[ab]{0,4}", 1..5)
        ) {
            if let Ok(parsed) = pattern.join("/").parse::<Pattern>() {
                let (pattern, method): (Vec<_>, Vec<_>) =
                    (pattern.iter().map(String::as_str).collect(), method.iter().map(String::as_str).collect());
                prop_assert_eq!(parsed.matches(method.join("/")), oracle(&pattern, &method));
            }
        }
    }
}
