//! How two answers differ, place by place.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use switchboard::{Json, Kind};

use crate::same::same;

/// How deep values are compared place by place. What is deeper is compared as a whole.
const DEPTH: usize = 100;
/// The most differences of one call that are found.
const MOST: usize = 1000;

/// A place where two answers differ.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Difference {
    /// Where, as a JSON pointer.
    #[serde(rename = "pointer", serialize_with = "write_pointer")]
    pub(crate) path: Vec<String>,
    /// What the recording has there, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Json>,
    /// What the server answered now, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replayed: Option<Json>,
}

impl Difference {
    /// Where it is, as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        self.path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
    }
}

fn write_pointer<S: Serializer>(path: &[String], to: S) -> Result<S::Ok, S::Error> {
    let difference = Difference { path: path.to_vec(), recorded: None, replayed: None };
    to.serialize_str(&difference.pointer())
}

/// All differences between two values. The order of members does not matter, and numbers are compared by value.
pub(crate) fn differences(recorded: &Json, replayed: &Json) -> Vec<Difference> {
    let mut search = Search { path: Vec::new(), found: Vec::new() };
    search.compare(recorded, replayed);
    search.found
}

struct Search {
    path: Vec<String>,
    found: Vec<Difference>,
}

impl Search {
    fn compare(&mut self, recorded: &Json, replayed: &Json) {
        if self.found.len() >= MOST || recorded.as_bytes() == replayed.as_bytes() {
            return;
        }
        let kinds = (recorded.kind(), replayed.kind());
        let parts = match kinds {
            _ if self.path.len() >= DEPTH => None,
            (Kind::Object, Kind::Object) => Some((members(recorded), members(replayed))),
            (Kind::Array, Kind::Array) => Some((elements(recorded), elements(replayed))),
            _ => None,
        };
        match parts {
            Some((recorded, replayed)) => self.compare_parts(recorded, replayed),
            None if same(recorded.as_str(), replayed.as_str()) => {}
            None => self.differ(Some(recorded.clone()), Some(replayed.clone())),
        }
    }

    fn compare_parts(&mut self, recorded: Parts, mut replayed: Parts) {
        for (key, before) in recorded {
            let now = replayed.remove(&key);
            self.path.push(key.name());
            match now {
                Some(now) => self.compare(&before, &now),
                None => self.differ(Some(before), None),
            }
            self.path.pop();
        }
        for (key, now) in replayed {
            self.path.push(key.name());
            self.differ(None, Some(now));
            self.path.pop();
        }
    }

    fn differ(&mut self, recorded: Option<Json>, replayed: Option<Json>) {
        if self.found.len() < MOST {
            self.found.push(Difference { path: self.path.clone(), recorded, replayed });
        }
    }
}

/// The parts of an object or an array, in their order.
type Parts = BTreeMap<Key, Json>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Index(usize),
    Name(String),
}

impl Key {
    fn name(self) -> String {
        match self {
            Key::Index(index) => index.to_string(),
            Key::Name(name) => name,
        }
    }
}

fn members(json: &Json) -> Parts {
    let members: BTreeMap<String, Json> = json.decode().unwrap_or_default();
    members.into_iter().map(|(name, value)| (Key::Name(name), value)).collect()
}

fn elements(json: &Json) -> Parts {
    let elements: Vec<Json> = json.decode().unwrap_or_default();
    elements.into_iter().enumerate().map(|(index, value)| (Key::Index(index), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(recorded: &str, replayed: &str) -> Vec<String> {
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let text = |value: &Option<Json>| value.as_ref().map_or("-".to_owned(), Json::to_string);
        let differences = differences(&json(recorded), &json(replayed));
        let line = |found: &Difference| {
            format!("{}: {} {}", found.pointer(), text(&found.recorded), text(&found.replayed))
        };
        differences.iter().map(line).collect()
    }

    #[test]
    fn every_place_that_differs_is_found() {
        let check = |recorded: &str, replayed: &str, expected: &[&str]| {
            assert_eq!(found(recorded, replayed), expected, "{recorded} {replayed}");
        };
        check(r#"{"a":1,"b":[1,2]}"#, r#"{ "b": [1.0, 2e0], "a": 1 }"#, &[]);
        check("9007199254740993", "9007199254740992", &[": 9007199254740993 9007199254740992"]);
        check(r#""\u0041""#, r#""A""#, &[]);
        check(r#"{"a":{"x":3}}"#, r#"{"a":{"x":4}}"#, &["/a/x: 3 4"]);
        check(r#"{"a":1}"#, r#"{"b":null}"#, &["/a: 1 -", "/b: - null"]);
        check("[1,2,3]", "[1,3]", &["/1: 2 3", "/2: 3 -"]);
        check("[]", "{}", &[": [] {}"]);
        check(r#"{"a/b~":1}"#, r#"{"a/b~":"1"}"#, &["/a~1b~0: 1 \"1\""]);
    }

    #[test]
    fn deep_and_long_values_are_compared_within_bounds() {
        let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(found(&deep("1"), &deep("1 ")), [""; 0]);
        assert_eq!(found(&deep("1"), &deep("2")).len(), 1);
        let long = |value: &str| format!("[{}0]", format!("{value},").repeat(5000));
        assert_eq!(found(&long("1"), &long("2")).len(), MOST);
    }
}
