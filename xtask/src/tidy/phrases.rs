//! Phrases that a native speaker would not say, in texts for users: documentation, messages, the playground.
//!
//! The phrases are data, in `phrases.txt`; `phrases-allowed.txt` lists the places where one of them is right.

use super::{Finding, Source, links, mask};

/// The list that allows single places.
const ALLOWED: &str = "xtask/src/tidy/phrases-allowed.txt";

/// Every phrase to avoid in the texts of the repository, and every place that is allowed in vain.
pub(super) fn findings(sources: &[Source]) -> Vec<Finding> {
    let phrases = parse_phrases(include_str!("phrases.txt"));
    let mut allowed = parse_allowed(include_str!("phrases-allowed.txt"));
    let mut findings = Vec::new();
    for source in sources {
        let Some(text) = texts(source) else { continue };
        findings.extend(search(source, &words(&text), &phrases, &mut allowed));
    }
    findings.extend(allowed.into_iter().map(Allowed::unused));
    findings
}

/// A phrase to avoid.
struct Phrase<'a> {
    words: Vec<&'a str>,
    /// It is right after one of these words.
    after: Vec<&'a str>,
    /// It is right before one of these words.
    before: Vec<&'a str>,
    hint: &'a str,
}

/// A place where a phrase is right.
struct Allowed<'a> {
    line: usize,
    path: &'a str,
    phrase: &'a str,
}

impl Allowed<'_> {
    fn unused(self) -> Finding {
        let what = format!("`{}` is not in {}: delete this line", self.phrase, self.path);
        Finding { path: ALLOWED.to_owned(), line: self.line, what }
    }
}

/// The lines of a list that are not comments, with their numbers and columns.
fn rows<const COLUMNS: usize>(list: &str) -> impl Iterator<Item = (usize, [&str; COLUMNS])> {
    let lines = list.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(index, line)| {
        let columns: Vec<&str> = line.splitn(COLUMNS, '|').map(str::trim).collect();
        (index + 1, columns.try_into().unwrap_or_else(|_| panic!("a line needs {COLUMNS} columns: {line}")))
    })
}

fn parse_phrases(list: &str) -> Vec<Phrase<'_>> {
    let rows = rows::<4>(list);
    let phrases = rows.map(|(_, [words, after, before, hint])| Phrase {
        words: words.split_whitespace().collect(),
        after: separate(after),
        before: separate(before),
        hint,
    });
    phrases.collect()
}

fn separate(words: &str) -> Vec<&str> {
    words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
}

fn parse_allowed(list: &str) -> Vec<Allowed<'_>> {
    rows(list).map(|(line, [path, phrase, _reason])| Allowed { line, path, phrase }).collect()
}

/// The texts of a file that people read, on the lines where they are; nothing if it has none.
fn texts(source: &Source) -> Option<String> {
    if source.is_markdown() {
        return Some(prose(&source.text));
    }
    let is_page = source.path.starts_with("playground/src/");
    let is_crate = source.path.starts_with("crates/")
        && source.is_in("src")
        && !source.is_in("tests")
        && source.is_rust();
    match (is_page, is_crate) {
        (true, _) => Some(source.text.clone()),
        (_, true) => Some(mask::texts_only(&source.text)),
        _ => None,
    }
}

/// A page without what programs print, which is searched where it is written.
fn prose(page: &str) -> String {
    let mut output = false;
    let mut fenced = false;
    let line = |line: &str| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            output = fenced && ["```console", "```text"].contains(&line.trim());
            return mask::CODE.to_string();
        }
        if output { mask::CODE.to_string() } else { line.to_owned() }
    };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A word of a text, in lower case, and its line.
struct Word {
    line: usize,
    text: String,
    /// Whether something other than a blank separates it from the next word.
    ends: bool,
}

impl Word {
    /// Whether this is the word of a phrase. One that ends with a colon means just that.
    fn is(&self, word: &str) -> bool {
        word.strip_suffix(':').map_or_else(|| self.bare() == word, |_| self.text == word)
    }

    fn bare(&self) -> &str {
        self.text.trim_matches(|c: char| !c.is_alphanumeric())
    }
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = links::without_code(line).replace("\\n", " ");
        for word in line.split_whitespace() {
            let text = word.to_lowercase();
            let ends = text.ends_with(['.', ',', ':', ';', '!', '?', ')', '"', '|', mask::CODE]);
            match words.last_mut() {
                // White space is skipped in a literal after a backslash, and a mark of a list or comment is not a word.
                _ if matches!(word, "\\" | "///" | "//!" | "//" | "*") => {}
                Some(Word { ends, .. }) if !word.contains(char::is_alphanumeric) => *ends = true,
                _ => words.push(Word { line: index + 1, text, ends }),
            }
        }
    }
    words
}

fn search(
    source: &Source,
    words: &[Word],
    phrases: &[Phrase<'_>],
    allowed: &mut Vec<Allowed<'_>>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in 0..words.len() {
        for phrase in phrases.iter().filter(|phrase| stands(phrase, words, at)) {
            let text = phrase.words.join(" ");
            let place = allowed.iter().position(|place| place.path == source.path && place.phrase == text);
            match place {
                Some(place) => drop(allowed.remove(place)),
                None => {
                    let what =
                        format!("`{text}` reads oddly; instead: {} (or allow it in {ALLOWED})", phrase.hint);
                    findings.push(source.finding(words[at].line, what));
                }
            }
        }
    }
    findings
}

/// Whether the phrase is at this word, and wrong there.
fn stands(phrase: &Phrase<'_>, words: &[Word], at: usize) -> bool {
    let Some(here) = words.get(at..at + phrase.words.len()) else { return false };
    let (last, others) = here.split_last().expect("a phrase has a word");
    let is_here = here.iter().zip(&phrase.words).all(|(word, expected)| word.is(expected));
    let before = at.checked_sub(1).map_or("", |before| words[before].bare());
    let after = words.get(at + here.len()).filter(|_| !last.ends).map_or("", Word::bare);
    is_here
        && !others.iter().any(|word| word.ends)
        && !phrase.after.contains(&before)
        && !phrase.before.contains(&after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{check, source};

    const PHRASES: &str =
        "# what\nis no | there | longer | a hint\nfar side | | | the server\ndue: | | | expected";

    fn at(path: &str, text: &str, allowed: &str, expected: &[(usize, &str)]) {
        let source = source(path, text);
        let mut allowed = parse_allowed(allowed);
        let text = texts(&source).unwrap();
        let mut found = search(&source, &words(&text), &parse_phrases(PHRASES), &mut allowed);
        found.extend(allowed.into_iter().map(Allowed::unused));
        check(&found, expected);
    }

    #[test]
    fn a_phrase_is_found_in_any_case_and_across_lines() {
        at("a.md", "It Is no URL.\nThis is\nno URL.", "", &[(1, "a hint"), (2, "a hint")]);
        at("a.md", "| is no | the far side |", "", &[(1, "a hint"), (1, "the server")]);
    }

    #[test]
    fn words_around_a_phrase_make_it_right() {
        at("a.md", "There is no URL. It is no longer one. He is. No.", "", &[]);
    }

    #[test]
    fn a_colon_belongs_to_its_phrase() {
        at("a.md", "Due: 5\nThe call is due now.", "", &[(1, "expected")]);
    }

    #[test]
    fn code_and_printed_output_are_not_searched() {
        at("a.md", "a `is no b` c\n```console\n$ is no\n```\nfar side", "", &[(5, "the server")]);
    }

    #[test]
    fn messages_and_documentation_of_crates_are_searched_and_code_is_not() {
        let text = "/// This is\n/// no URL.\n// It is no URL.\nlet far = side; f(\"the far \\\n    side\\nis no x\");";
        at("crates/core/src/a.rs", text, "", &[(1, "a hint"), (4, "the server"), (5, "a hint")]);
        at("crates/core/src/a.rs", "f(\"is\", \"no\")", "", &[]);
    }

    #[test]
    fn one_line_allows_one_place() {
        let allowed = "a.md | is no | a quotation";
        at("a.md", "is no x", allowed, &[]);
        at("a.md", "is no x\nis no y", allowed, &[(2, "a hint")]);
        at("b.md", "is no x", allowed, &[(1, "a hint"), (1, "delete this line")]);
    }

    #[test]
    fn the_lists_are_readable() {
        assert!(parse_phrases(include_str!("phrases.txt")).iter().all(|phrase| !phrase.hint.is_empty()));
        parse_allowed(include_str!("phrases-allowed.txt"));
    }
}
