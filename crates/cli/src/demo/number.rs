//! Numbers that stay what they are: whole ones whole, others floating.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchboard::{Json, Kind};

use super::faults::Unacceptable;

/// A number as JSON has it: without a fraction and an exponent it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A whole number of up to 128 bits.
    Whole(i128),
    /// Any other number; finite.
    Floating(f64),
}

impl Number {
    /// Combines two numbers: exactly if both are whole, otherwise as floating ones.
    ///
    /// # Errors
    ///
    /// When the result is too large for its kind.
    pub(crate) fn combine(
        self,
        other: Number,
        exact: fn(i128, i128) -> Option<i128>,
        floating: fn(f64, f64) -> f64,
    ) -> Result<Number, Unacceptable> {
        let result = match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => exact(a, b).map(Number::Whole),
            (a, b) => Number::finite(floating(a.to_f64(), b.to_f64())),
        };
        result.ok_or_else(|| "the result is too large for a number of 128 bits".into())
    }

    /// The number as a floating one, rounded where it has to be.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Floating(number) => number,
        }
    }

    fn finite(number: f64) -> Option<Number> {
        number.is_finite().then_some(Number::Floating(number))
    }

    /// Reads the text of a JSON number.
    fn parse(text: &str) -> Option<Number> {
        if text.contains(['.', 'e', 'E']) {
            Number::finite(text.parse().ok()?)
        } else {
            text.parse().ok().map(Number::Whole)
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    /// Reads the text itself, because serde_json knows no whole numbers beyond 64 bits.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let json = Json::deserialize(deserializer)?;
        if json.kind() != Kind::Number {
            return Err(D::Error::invalid_type(Unexpected::Other("another value"), &"a number"));
        }
        Number::parse(json.as_str()).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Other("a larger one"), &"a number of at most 128 bits")
        })
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Whole(number) => serializer.serialize_i128(*number),
            Number::Floating(number) => serializer.serialize_f64(*number),
        }
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}
