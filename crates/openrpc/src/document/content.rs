//! Parameters and results (OR-16, OR-17).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::is_false;

/// A parameter or a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContentDescriptor {
    /// Its name; for a parameter, the one to pass it by.
    pub name: String,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is required.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// Whether it is deprecated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// The schema of its values.
    pub schema: Schema,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ContentDescriptor {
    /// An optional value with this name and schema.
    #[must_use]
    pub fn new(name: impl Into<String>, schema: Schema) -> ContentDescriptor {
        ContentDescriptor { name: name.into(), schema, ..ContentDescriptor::default() }
    }
}

/// A JSON Schema of draft 7: an object or a boolean. Only its kind is checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Schema(Value);

impl Schema {
    /// The value as a schema, if it is an object or a boolean.
    #[must_use]
    pub fn new(value: Value) -> Option<Schema> {
        matches!(value, Value::Object(_) | Value::Bool(_)).then_some(Schema(value))
    }

    /// The schema as a value.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The schema as a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0
    }
}

/// The schema that accepts everything.
impl Default for Schema {
    fn default() -> Schema {
        Schema(Value::Bool(true))
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Schema, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Schema::new(value)
            .ok_or_else(|| serde::de::Error::custom("a schema must be an object, `true` or `false`"))
    }
}
