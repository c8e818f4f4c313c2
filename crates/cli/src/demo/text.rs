//! Texts as people write them where nothing says that they are texts.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use switchboard::{Json, Kind};

/// A string; a number or a truth value stands for its JSON text.
///
/// In the query of a URL, `message=5` is a number that may be meant as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        let json = Json::deserialize(deserializer)?;
        match json.kind() {
            Kind::String => json.decode().map(Text).map_err(D::Error::custom),
            Kind::Number | Kind::Bool => Ok(Text(json.to_string())),
            _ => Err(D::Error::invalid_type(Unexpected::Other("another value"), &"a string")),
        }
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}
