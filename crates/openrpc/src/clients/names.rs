//! Identifiers from names that may be anything.
//!
//! Only letters and digits of ASCII are kept, so that no language reads two names as one, or a name as something else.

use std::collections::BTreeSet;

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
    begun(words(name).into_iter().map(upper).collect(), "Value")
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
    begun(text, "value")
}

/// `add_stream`.
pub(super) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).iter().map(|word| word.to_ascii_lowercase()).collect();
    begun(words.join("_"), "value")
}

/// What does not begin with a letter gets one; what is empty gets a name.
fn begun(text: String, otherwise: &str) -> String {
    match text.chars().next() {
        None => otherwise.to_owned(),
        Some(first) if first.is_ascii_digit() => match otherwise.starts_with('V') {
            true => format!("N{text}"),
            false => format!("n{text}"),
        },
        Some(_) => text,
    }
}

/// Names that are taken, in one place of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    taken: BTreeSet<String>,
}

impl Scope {
    /// A place where these have a meaning already.
    pub(super) fn new<'a>(reserved: impl IntoIterator<Item = &'a &'a str>) -> Scope {
        Scope { taken: reserved.into_iter().map(|name| (*name).to_owned()).collect() }
    }

    /// This name; with an underscore or a number behind it if it is taken.
    pub(super) fn take(&mut self, name: &str, reserved: &[&str]) -> String {
        let mut name = name.to_owned();
        if reserved.contains(&name.as_str()) {
            name.push('_');
        }
        let mut unique = name.clone();
        let mut count = 1;
        while !self.taken.insert(unique.clone()) {
            count += 1;
            unique = format!("{name}{count}");
        }
        unique
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
    }
}
