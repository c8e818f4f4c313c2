//! Completion of prompt arguments and of the variables of resource templates.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::wire::wire;
use super::{Revision, Wire};

/// The maximum number of values in a completion.
const MOST_VALUES: usize = 100;

wire! {
    /// The params of `completion/complete` (MCP-O-01).
    pub struct CompletionParams {
        required {
            /// The prompt or the resource template.
            reference: CompletionRef = "ref",
            /// The argument to complete.
            argument: CompletionArgument = "argument",
        }
        optional {
            /// Other arguments that are already known.
            context: Option<CompletionContext> = "context" since V2025_06_18,
        }
    }
}

impl CompletionParams {
    /// A request to complete the argument `name`, whose current value is `value`.
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
    /// An argument to complete.
    #[derive(Default)]
    pub struct CompletionArgument {
        required {
            /// The name of the argument.
            name: String = "name",
            /// The current value.
            value: String = "value",
        }
        optional {}
    }
}

wire! {
    /// Context for a completion.
    #[derive(Default)]
    pub struct CompletionContext {
        required {}
        optional {
            /// The arguments that already have a value.
            arguments: BTreeMap<String, String> = "arguments",
        }
    }
}

/// The prompt or resource that an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompletionRef {
    /// The prompt with this name.
    Prompt(String),
    /// The resource or resource template with this URI.
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
    /// Suggested values for an argument, best first.
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
            /// The total number of matches, if known.
            total: Option<u64> = "total",
            /// Whether there are more matches.
            has_more: bool = "hasMore",
        }
    }
}

impl Completion {
    /// The first 100 of these values, with the total.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Completion {
        let mut values: Vec<_> = values.into_iter().collect();
        let total = values.len();
        values.truncate(MOST_VALUES);
        Completion { values, total: u64::try_from(total).ok(), has_more: total > MOST_VALUES }
    }
}
