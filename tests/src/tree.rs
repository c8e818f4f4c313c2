//! JSON to compare: member order does not count, the spelling of numbers does.
//!
//! Texts are split by `serde_json`'s raw values, which knows every number and any depth, so this is also the oracle for
//! which texts are JSON. (`serde_json::Value` would need features that change what the core is built with.)

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One JSON value. Numbers keep their spelling, members their order.
#[derive(Clone, Debug)]
pub enum Tree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// The content of a string.
    String(String),
    /// The elements of an array.
    Array(Vec<Tree>),
    /// The members of an object.
    Object(Vec<(String, Tree)>),
}

/// In an expectation this string stands for any value.
const ANY: &str = "<any>";

impl Tree {
    /// Reads one JSON text.
    ///
    /// # Errors
    ///
    /// When it is not JSON, which half of a surrogate pair makes it too.
    pub fn read(text: &str) -> Result<Tree, serde_json::Error> {
        serde_json::from_str::<IgnoredAny>(text)?;
        Tree::split(serde_json::from_str(text)?)
    }

    /// Reads one message.
    ///
    /// # Errors
    ///
    /// When it is not JSON in UTF-8.
    pub fn of_message(message: &Bytes) -> Result<Tree, String> {
        let text = std::str::from_utf8(message).map_err(|error| error.to_string())?;
        Tree::read(text).map_err(|error| format!("{error} in {text}"))
    }

    fn split(raw: &RawValue) -> Result<Tree, serde_json::Error> {
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'n' => Tree::Null,
            b't' => Tree::Bool(true),
            b'f' => Tree::Bool(false),
            b'"' => Tree::String(serde_json::from_str(text)?),
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text)?;
                Tree::Array(elements.into_iter().map(Tree::split).collect::<Result<_, _>>()?)
            }
            b'{' => {
                let Members(members) = serde_json::from_str(text)?;
                let read = members.into_iter().map(|(name, raw)| Ok((name, Tree::split(raw)?)));
                Tree::Object(read.collect::<Result<_, serde_json::Error>>()?)
            }
            _ => Tree::Number(text.to_owned()),
        })
    }

    /// The member of this name, the first if there are several.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Tree> {
        self.members().iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// The members of an object; anything else has none.
    #[must_use]
    pub fn members(&self) -> &[(String, Tree)] {
        match self {
            Tree::Object(members) => members,
            _ => &[],
        }
    }

    /// Whether a member name stands twice in this object or in one inside of it.
    #[must_use]
    pub fn has_duplicate(&self) -> bool {
        match self {
            Tree::Array(elements) => elements.iter().any(Tree::has_duplicate),
            Tree::Object(members) => {
                let mut names: Vec<_> = members.iter().map(|(name, _)| name).collect();
                names.sort_unstable();
                names.windows(2).any(|pair| pair[0] == pair[1])
                    || members.iter().any(|(_, value)| value.has_duplicate())
            }
            _ => false,
        }
    }

    /// Whether this is what `expected` says, in which `"<any>"` stands for any value.
    #[must_use]
    pub fn matches(&self, expected: &Tree) -> bool {
        match (self, expected) {
            (_, Tree::String(any)) if any == ANY => true,
            (Tree::Null, Tree::Null) => true,
            (Tree::Bool(a), Tree::Bool(b)) => a == b,
            (Tree::Number(a), Tree::Number(b)) | (Tree::String(a), Tree::String(b)) => a == b,
            (Tree::Array(a), Tree::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.matches(b))
            }
            (Tree::Object(a), Tree::Object(b)) => {
                let found = |name, b: &Tree| self.member(name).is_some_and(|a| a.matches(b));
                !self.has_duplicate() && a.len() == b.len() && b.iter().all(|(name, b)| found(name, b))
            }
            _ => false,
        }
    }
}

/// Writes the value without any white space.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Null => f.write_str("null"),
            Tree::Bool(value) => value.fmt(f),
            Tree::Number(text) => f.write_str(text),
            Tree::String(content) => f.write_str(&serde_json::Value::from(content.as_str()).to_string()),
            Tree::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(Tree::to_string).collect();
                write!(f, "[{}]", elements.join(","))
            }
            Tree::Object(members) => {
                let member =
                    |(name, value): &(String, Tree)| format!("{}:{value}", Tree::String(name.clone()));
                write!(f, "{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Tree::read(&value.to_string()).map_err(D::Error::custom)
    }
}

/// The members of an object in their order, names given twice included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &str, expected: &str, verdict: bool) {
        let (found, expected) = (Tree::read(found).unwrap(), Tree::read(expected).unwrap());
        assert_eq!(found.matches(&expected), verdict, "{found} and {expected}");
    }

    #[test]
    fn member_order_does_not_count_and_the_spelling_of_numbers_does() {
        check(r#"{"a":1,"b":[2]}"#, r#"{ "b": [2], "a": 1 }"#, true);
        check(r#"{"a":1.0}"#, r#"{"a":1}"#, false);
        check(r#""\u0041""#, r#""A""#, true);
        check("[1,2]", "[2,1]", false);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1}"#, false);
        check(r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1}"#, false);
    }

    #[test]
    fn a_placeholder_matches_any_value_but_not_an_absent_one() {
        check(r#"{"a":[1]}"#, r#"{"a":"<any>"}"#, true);
        check("{}", r#"{"a":"<any>"}"#, false);
    }

    #[test]
    fn half_a_surrogate_pair_is_no_json() {
        assert!(Tree::read(r#"["\ud800"]"#).is_err());
        assert!(Tree::read(r#"{"\ud800":1}"#).is_err());
        assert!(Tree::read("1e999999").is_ok());
    }
}
