//! What a parameter or a result looks like (OR-16, OR-17).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::is_false;

/// A parameter or a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContentDescriptor {
    /// Its name; of a parameter, the one to give it by.
    pub name: String,
    /// What it is, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it is, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// Whether it should not be used any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Which values it can be.
    pub schema: Schema,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ContentDescriptor {
    /// A value of this name that has this schema, and need not be given.
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
    /// The schema that this value is, if it is an object or a boolean.
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

/// The schema that everything fits.
impl Default for Schema {
    fn default() -> Schema {
        Schema(Value::Bool(true))
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Schema, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Schema::new(value)
            .ok_or_else(|| serde::de::Error::custom("a schema is an object, or `true` or `false`"))
    }
}
