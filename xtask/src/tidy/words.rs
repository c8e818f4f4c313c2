//! Words that must not stand in any file.
//!
//! They are put together from halves here, so that this file keeps its own rule.

use super::{Finding, Source, has_word};

/// Marks of unfinished work.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Places and names that are no part of the product: where it was built, where packages are fetched from,
/// what it was written with. In any case of letters.
const OUTSIDE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("shared/", "design"),
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npm", "js"),
    concat!("deb.", "debian.org"),
    concat!("chat", "gpt"),
    concat!("clau", "de"),
    concat!("anth", "ropic"),
];

/// Files that package managers write; they name their registries.
const LOCKS: &[&str] = &["Cargo.lock", "package-lock.json"];

/// Every such word in the file.
pub(super) fn findings(source: &Source) -> Vec<Finding> {
    if LOCKS.contains(&source.path.rsplit('/').next().unwrap_or_default()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for mark in MARKS.iter().filter(|mark| has_word(line, mark)) {
            findings.push(source.finding(index + 1, format!("`{mark}`: do it now, or open an issue")));
        }
        let lower = line.to_lowercase();
        for word in OUTSIDE.iter().filter(|word| lower.contains(**word)) {
            findings
                .push(source.finding(index + 1, format!("`{word}` is not part of the product: remove it")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{check, source};

    #[test]
    fn every_word_is_found_in_any_text_file() {
        for word in MARKS.iter().chain(OUTSIDE) {
            check(&findings(&source("a.md", &format!("a\nsee {word} b"))), &[(2, word)]);
        }
    }

    #[test]
    fn outside_words_are_found_in_any_case() {
        check(&findings(&source("a.md", &OUTSIDE[2].to_uppercase())), &[(1, OUTSIDE[2])]);
    }

    #[test]
    fn marks_count_only_as_whole_words() {
        check(&findings(&source("a.sh", &format!("mktemp {0}{0}", MARKS[2]))), &[]);
        check(&findings(&source("a.sh", &MARKS[0].to_lowercase())), &[]);
    }

    #[test]
    fn lock_files_may_name_their_registry() {
        check(&findings(&source("fuzz/Cargo.lock", OUTSIDE[2])), &[]);
    }
}
