//! Examples of calls and their results (OR-18).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Referable;

/// An example call with its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExamplePairing {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments, in the order of the parameters.
    #[serde(default)]
    pub params: Vec<Referable<Example>>,
    /// The result; none if the call is a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Referable<Example>>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// An example value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Example {
    /// Its name; for a parameter, that of the parameter.
    #[serde(default)]
    pub name: String,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value, if it is embedded.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The URL of the value, if it is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_value: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Example {
    /// A value with a name.
    #[must_use]
    pub fn new(name: impl Into<String>, value: Value) -> Example {
        Example { name: name.into(), value: Some(value), ..Example::default() }
    }
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
