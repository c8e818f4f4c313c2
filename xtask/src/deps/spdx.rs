//! SPDX licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND ISC)`.
//!
//! `WITH` binds tighter than `AND`, `AND` tighter than `OR`. The old spelling `MIT/Apache-2.0` means `OR`. A
//! `+` after a licence ("or later") permits at least the licence itself and is read as it.

/// Decides on one licence, with its exception if it has one.
type Judge<'a> = &'a dyn Fn(&str, Option<&str>) -> bool;

/// Whether the expression can be met with licences that the judge allows.
///
/// # Errors
///
/// Says what is wrong with an expression that does not parse.
pub(super) fn permits(expression: &str, judge: Judge<'_>) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { words: spaced.split_whitespace().collect(), at: 0, judge };
    let permitted = parser.any()?;
    match parser.next() {
        None => Ok(permitted),
        Some(word) => Err(format!("unexpected `{word}`")),
    }
}

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
    judge: Judge<'a>,
}

impl<'a> Parser<'a> {
    /// `all OR all OR …`
    fn any(&mut self) -> Result<bool, String> {
        let mut permitted = self.all()?;
        while self.takes("OR") {
            // Both sides are parsed, whatever the first one is worth.
            permitted |= self.all()?;
        }
        Ok(permitted)
    }

    /// `one AND one AND …`
    fn all(&mut self) -> Result<bool, String> {
        let mut permitted = self.one()?;
        while self.takes("AND") {
            permitted &= self.one()?;
        }
        Ok(permitted)
    }

    /// `LICENCE`, `LICENCE WITH EXCEPTION` or `( any )`
    fn one(&mut self) -> Result<bool, String> {
        if self.takes("(") {
            let permitted = self.any()?;
            return if self.takes(")") { Ok(permitted) } else { Err("a `)` is missing".to_owned()) };
        }
        let licence = self.name()?;
        let exception = if self.takes("WITH") { Some(self.name()?) } else { None };
        Ok((self.judge)(licence.trim_end_matches('+'), exception))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.next() {
            Some(word) if !["(", ")", "AND", "OR", "WITH"].contains(&word) => Ok(word),
            Some(word) => Err(format!("a name is missing before `{word}`")),
            None => Err("it ends where a name is expected".to_owned()),
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: bool) {
        let judge = |licence: &str, exception: Option<&str>| {
            ["MIT", "Apache-2.0", "ISC"].contains(&licence)
                && exception.is_none_or(|name| name == "LLVM-exception")
        };
        assert_eq!(permits(expression, &judge), Ok(expected), "{expression}");
    }

    #[test]
    fn a_single_licence_is_what_the_judge_says() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("Apache-2.0+", true);
    }

    #[test]
    fn or_needs_one_side_and_and_needs_both() {
        check("GPL-3.0-only OR MIT", true);
        check("MIT OR GPL-3.0-only", true);
        check("GPL-3.0-only OR MPL-2.0", false);
        check("MIT AND ISC", true);
        check("MIT AND GPL-3.0-only", false);
    }

    #[test]
    fn and_binds_tighter_than_or() {
        check("MIT OR GPL-3.0-only AND MPL-2.0", true);
        check("GPL-3.0-only AND MPL-2.0 OR MIT", true);
        check("(MIT OR GPL-3.0-only) AND MPL-2.0", false);
        check("ISC AND (Apache-2.0 OR GPL-3.0-only)", true);
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        check("Apache-2.0 WITH LLVM-exception", true);
        check("Apache-2.0 WITH Other-exception", false);
        check("GPL-2.0-only WITH LLVM-exception", false);
        check("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true);
    }

    #[test]
    fn the_old_slash_means_or() {
        check("MIT/GPL-3.0-only", true);
        check("GPL-3.0-only / Apache-2.0", true);
    }

    #[test]
    fn an_expression_that_does_not_parse_is_an_error() {
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "()"] {
            assert!(permits(expression, &|_, _| true).is_err(), "{expression:?}");
        }
    }
}
