//! The style rules, over the files of the repository.
//!
//! Each rule is a pure function from a file to findings, in a file of its own. A finding prints as
//! `path:line: what is wrong: what to do`, so that editors can jump to it.

mod files;
mod length;
mod links;
mod mask;
mod names;
mod phrases;
mod public;
mod rust;
mod words;

use std::fmt;

use crate::step::{Done, Failure};

/// A text file of the repository.
#[derive(Debug)]
struct Source {
    /// The path from the root, with `/` between folders.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Whether the file is in a folder with this name.
    fn is_in(&self, folder: &str) -> bool {
        self.path.rsplit_once('/').is_some_and(|(folders, _)| folders.split('/').any(|name| name == folder))
    }

    /// A finding at a line of this file, counted from one.
    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

/// Something against the rules.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs the rules on the repository.
pub(crate) fn run() -> Result<Done, Failure> {
    let paths = files::list()?;
    let sources: Vec<Source> = paths.iter().filter_map(|path| files::read(path)).collect();
    let findings = findings(&paths, &sources);
    for finding in &findings {
        println!("  {finding}");
    }
    println!("  {} files read", sources.len());
    match findings.len() {
        0 => Ok(Done::Passed),
        n => Err(Failure::new(
            format!("{n} tidy findings"),
            "fix each finding above; the rules are in xtask/src/tidy",
        )),
    }
}

fn findings(paths: &[String], sources: &[Source]) -> Vec<Finding> {
    let mut findings = names::findings(paths);
    for source in sources {
        findings.extend(words::findings(source));
        if source.is_rust() {
            findings.extend(rust::findings(source));
            findings.extend(length::findings(source));
        }
    }
    findings.extend(links::findings(paths, sources));
    findings.extend(public::findings(sources));
    findings.extend(phrases::findings(sources));
    findings
}

/// Whether the word stands in the line, as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    after_word(line, word).next().is_some()
}

/// What follows the word, at each place where it stands with no letter, digit or `_` beside it.
fn after_word<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).filter_map(move |(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        (!before.ends_with(is_part) && !after.starts_with(is_part)).then_some(after)
    })
}

/// What the rules' tests share.
#[cfg(test)]
mod testing {
    use super::{Finding, Source};

    pub(super) fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    /// The findings are at these lines, and each says this.
    pub(super) fn check(findings: &[Finding], expected: &[(usize, &str)]) {
        let agrees = findings.len() == expected.len()
            && findings
                .iter()
                .zip(expected)
                .all(|(f, (line, what))| f.line == *line && f.what.contains(what));
        assert!(agrees, "expected {expected:?}, found {findings:#?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_as_path_line_and_text() {
        let finding = testing::source("a/b.rs", "").finding(7, "a tab: use blanks");
        assert_eq!(finding.to_string(), "a/b.rs:7: a tab: use blanks");
    }

    #[test]
    fn a_word_is_found_only_as_a_whole() {
        assert!(has_word("let x = unsafe { y };", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert!(has_word("éa fn", "fn"));
    }
}
