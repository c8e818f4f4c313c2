//! Numbers that stay what they are: whole ones whole, others floating.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::faults::Unacceptable;

/// A number as JSON has it: without a fraction and an exponent it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A whole number of up to 128 bits.
    Whole(i128),
    /// Any other number; finite.
    Floating(f64),
}

/// As many digits always fit into 64 bits.
const SHORT: usize = 18;

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
        result.ok_or_else(|| "the result is too large".into())
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
        if let Some(short) = Number::parse_short(text.as_bytes()) {
            return Some(Number::Whole(short.into()));
        }
        if text.contains(['.', 'e', 'E']) {
            return Number::finite(text.parse().ok()?);
        }
        text.parse().ok().map(Number::Whole)
    }

    /// Reads a whole number that fits into 64 bits however its digits are, as nearly all do: in a fifth of the time.
    fn parse_short(text: &[u8]) -> Option<i64> {
        let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |digits| (digits, -1));
        if digits.len() > SHORT {
            return None;
        }
        let add =
            |number: i64, digit: &u8| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'));
        digits.iter().try_fold(0, add).map(|number| number * sign)
    }
}

impl<'de> Deserialize<'de> for Number {
    /// Reads the text itself, because serde_json knows no whole numbers beyond 64 bits.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err(D::Error::invalid_type(Unexpected::Other("another value"), &"a number"));
        }
        Number::parse(text).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Other("a larger one"), &"a number of at most 128 bits")
        })
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Whole(number) => match i64::try_from(*number) {
                Ok(short) => serializer.serialize_i64(short),
                Err(_) => serializer.serialize_i128(*number),
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_whole_up_to_128_bits_and_others_are_floating() {
        let check =
            |text: &str, expected: Option<Number>| assert_eq!(Number::parse(text), expected, "{text}");
        check("0", Some(Number::Whole(0)));
        check("-12", Some(Number::Whole(-12)));
        for whole in [999_999_999_999_999_999, 1_000_000_000_000_000_000, i128::MAX, i128::MIN] {
            check(&whole.to_string(), Some(Number::Whole(whole)));
        }
        check("170141183460469231731687303715884105728", None);
        check("1.5", Some(Number::Floating(1.5)));
        check("-2e3", Some(Number::Floating(-2000.0)));
        check("1e999", None);
    }
}
