//! Completing the arguments of prompts and the variables of resource templates.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::wire::wire;
use super::{Revision, Wire};

/// How many values a completion may have.
const MOST_VALUES: usize = 100;

wire! {
    /// What to complete: the params of `completion/complete` (MCP-O-01).
    pub struct CompletionParams {
        required {
            /// The prompt or the resource template.
            reference: CompletionRef = "ref",
            /// The argument, and what is typed so far.
            argument: CompletionArgument = "argument",
        }
        optional {
            /// What is known besides.
            context: Option<CompletionContext> = "context" since V2025_06_18,
        }
    }
}

impl CompletionParams {
    /// Completes this argument, of which this much is typed.
    #[must_use]
    pub fn new(
        reference: CompletionRef,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> CompletionParams {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        CompletionParams { reference, argument, context: None }
    }
}

wire! {
    /// An argument, and what is typed so far.
    #[derive(Default)]
    pub struct CompletionArgument {
        required {
            /// The name of the argument.
            name: String = "name",
            /// What is typed so far.
            value: String = "value",
        }
        optional {}
    }
}

wire! {
    /// What is known besides the argument to complete.
    #[derive(Default)]
    pub struct CompletionContext {
        required {}
        optional {
            /// The arguments that have a value.
            arguments: BTreeMap<String, String> = "arguments",
        }
    }
}

/// What an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompletionRef {
    /// The prompt with this name.
    Prompt(String),
    /// The resource or resource template with this address.
    Resource(String),
}

impl Wire for CompletionRef {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, member, value) = match self {
            CompletionRef::Prompt(name) => ("ref/prompt", "name", name),
            CompletionRef::Resource(uri) => ("ref/resource", "uri", uri),
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", kind)?;
        map.serialize_entry(member, value)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for CompletionRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CompletionRef, D::Error> {
        #[derive(Deserialize)]
        struct Parts {
            #[serde(rename = "type")]
            kind: String,
            name: Option<String>,
            uri: Option<String>,
        }
        let parts = Parts::deserialize(deserializer)?;
        match parts.kind.as_str() {
            "ref/prompt" => {
                parts.name.map(CompletionRef::Prompt).ok_or_else(|| D::Error::missing_field("name"))
            }
            "ref/resource" => {
                parts.uri.map(CompletionRef::Resource).ok_or_else(|| D::Error::missing_field("uri"))
            }
            _ => Err(D::Error::custom("the type is unknown; expected `ref/prompt` or `ref/resource`")),
        }
    }
}

wire! {
    /// Values for an argument, the best first.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_mcp::model::Completion;
    ///
    /// let cities = Completion::new((0..250).map(|n| format!("City {n}")));
    /// assert_eq!((cities.values.len(), cities.total, cities.has_more), (100, Some(250), true));
    /// ```
    #[derive(Default)]
    pub struct Completion {
        required {
            /// The values, at most 100.
            values: Vec<String> = "values",
        }
        optional {
            /// How many there are altogether, if that is known.
            total: Option<u64> = "total",
            /// Whether there are more.
            has_more: bool = "hasMore",
        }
    }
}

impl Completion {
    /// The first hundred of these values, and how many there are.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Completion {
        let mut values: Vec<_> = values.into_iter().collect();
        let total = values.len();
        values.truncate(MOST_VALUES);
        Completion { values, total: u64::try_from(total).ok(), has_more: total > MOST_VALUES }
    }
}
