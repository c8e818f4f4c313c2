//! Identifiers from arbitrary names.
//!
//! Only ASCII letters and digits are kept, so that no language reads two names as one, or a name as something else.

use std::collections::{BTreeMap, BTreeSet};

/// How many characters of a name are kept.
const LONGEST: usize = 64;

/// The beginning of a name.
fn cut(name: &str) -> &str {
    name.char_indices().nth(LONGEST).map_or(name, |(end, _)| &name[..end])
}

/// A name for a part of something that has a name.
pub(super) fn inside(name: &str, inner: &str) -> String {
    format!("{} {}", cut(name), cut(inner))
}

/// The words of a name: `math/addStream_2` is math, add, Stream and 2.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            let begins =
                !before.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && c.is_ascii_uppercase());
            match words.last_mut() {
                Some(word) if !begins => word.push(c),
                _ => words.push(c.to_string()),
            }
        }
        before = c;
    }
    words
}

/// `AddStream`. Letters that were capitals stay so: `HTTPError`.
pub(super) fn pascal(name: &str) -> String {
    let upper = |word: String| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    };
    begun(&words(name).into_iter().map(upper).collect::<String>(), "Value")
}

/// `addStream`.
pub(super) fn camel(name: &str) -> String {
    let words = words(name);
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        match at {
            0 if word.chars().all(|c| !c.is_ascii_lowercase()) => text.push_str(&word.to_ascii_lowercase()),
            0 => {
                text.push_str(&word[..1].to_ascii_lowercase());
                text.push_str(&word[1..]);
            }
            _ => {
                text.push_str(&word[..1].to_ascii_uppercase());
                text.push_str(&word[1..]);
            }
        }
    }
    begun(&text, "value")
}

/// `add_stream`.
pub(super) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).iter().map(|word| word.to_ascii_lowercase()).collect();
    begun(&words.join("_"), "value")
}

/// What does not begin with a letter gets one; what is empty gets a name.
fn begun(text: &str, otherwise: &str) -> String {
    let text = cut(text);
    match text.chars().next() {
        None => otherwise.to_owned(),
        Some(first) if first.is_ascii_digit() => match otherwise.starts_with('V') {
            true => format!("N{text}"),
            false => format!("n{text}"),
        },
        Some(_) => text.to_owned(),
    }
}

/// Names that are taken, in one place of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    taken: BTreeSet<String>,
    /// The last number that stands behind a name.
    numbers: BTreeMap<String, usize>,
}

impl Scope {
    /// A place where these have a meaning already.
    pub(super) fn new<'a>(reserved: impl IntoIterator<Item = &'a &'a str>) -> Scope {
        let taken = reserved.into_iter().map(|name| (*name).to_owned()).collect();
        Scope { taken, numbers: BTreeMap::new() }
    }

    /// This name; with an underscore or a number behind it if it is taken.
    pub(super) fn take(&mut self, name: &str, reserved: &[&str]) -> String {
        let mut name = name.to_owned();
        if reserved.contains(&name.as_str()) {
            name.push('_');
        }
        if self.taken.insert(name.clone()) {
            return name;
        }
        // From where it ended last time: many of one name would otherwise be tried over and over.
        let number = self.numbers.entry(name.clone()).or_insert(1);
        loop {
            *number += 1;
            let unique = format!("{name}{number}");
            if self.taken.insert(unique.clone()) {
                return unique;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_each_language_has_them() {
        let check = |name: &str, expected: [&str; 3]| {
            assert_eq!([pascal(name), camel(name), snake(name)], expected, "{name:?}");
        };
        check("add_stream", ["AddStream", "addStream", "add_stream"]);
        check("addStream", ["AddStream", "addStream", "add_stream"]);
        check("get-pet by.id", ["GetPetById", "getPetById", "get_pet_by_id"]);
        check("URL", ["URL", "url", "url"]);
        check("2nd", ["N2nd", "n2nd", "n2nd"]);
        check("größe", ["GrE", "grE", "gr_e"]);
        check("*/", ["Value", "value", "value"]);
        check("", ["Value", "value", "value"]);
    }

    #[test]
    fn a_name_that_is_taken_becomes_another() {
        let mut scope = Scope::new(&["Client"]);
        let names = ["Client", "Pet", "Pet", "class"].map(|name| scope.take(name, &["class"]));
        assert_eq!(names, ["Client2", "Pet", "Pet2", "class_"]);
        let names = ["Pet4", "Pet", "Pet"].map(|name| scope.take(name, &[]));
        assert_eq!(names, ["Pet4", "Pet3", "Pet5"]);
    }

    #[test]
    fn long_names_are_cut() {
        let long = "ab ".repeat(1000);
        for name in [pascal(&long), camel(&long), snake(&long), pascal(&inside(&long, &long))] {
            assert!(name.len() <= LONGEST, "{name}");
        }
    }
}
