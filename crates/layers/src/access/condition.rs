//! Conditions on a value in params.

use std::cmp::Ordering;
use std::fmt;

use regex_lite::Regex;
use switchboard_core::{Json, Kind};

/// A condition on a value in params. Values are not converted: `"100"` is not `100`.
#[derive(Clone, Debug)]
pub struct Condition(Test);

#[derive(Clone, Debug)]
enum Test {
    /// One of these scalars.
    OneOf(Vec<Json>),
    /// A number in this range, the ends included.
    Range { min: Option<Decimal>, max: Option<Decimal> },
    /// A string that matches.
    Matches(Regex),
    /// There is no value.
    Absent,
}

/// Why a condition cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// A value to compare with is an array or an object.
    #[error("cannot compare with `{0}`; use a string, a number, true, false or null")]
    NotScalar(String),
    /// An end of a range is not a number.
    #[error("`{0}` is not a number")]
    NotNumber(String),
    /// A regular expression is wrong.
    #[error("invalid regular expression: {0}")]
    Regex(String),
}

/// How a value meets a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Yes,
    No,
    /// The value is missing, or of a type that the condition does not know.
    Unfit,
}

impl Condition {
    /// The value is one of these.
    ///
    /// # Errors
    ///
    /// If one of them is an array or an object.
    pub fn one_of(values: impl IntoIterator<Item = Json>) -> Result<Condition, ConditionError> {
        let values = values.into_iter().map(|value| match value.kind() {
            Kind::Array | Kind::Object => Err(ConditionError::NotScalar(value.to_string())),
            _ => Ok(value),
        });
        Ok(Condition(Test::OneOf(values.collect::<Result<_, _>>()?)))
    }

    /// The value is a number from `min` to `max`, compared exactly. The ends are decimal numbers, so that none is rounded.
    ///
    /// # Errors
    ///
    /// If an end is not a number.
    pub fn range(min: Option<&str>, max: Option<&str>) -> Result<Condition, ConditionError> {
        let end = |text: Option<&str>| {
            text.map(|text| Decimal::parse(text).ok_or_else(|| ConditionError::NotNumber(text.to_owned())))
                .transpose()
        };
        Ok(Condition(Test::Range { min: end(min)?, max: end(max)? }))
    }

    /// The value is a string in which this regular expression finds a match, in time linear in its length.
    ///
    /// # Errors
    ///
    /// If the expression is wrong.
    pub fn matches(regex: &str) -> Result<Condition, ConditionError> {
        let regex = Regex::new(regex).map_err(|error| ConditionError::Regex(error.to_string()))?;
        Ok(Condition(Test::Matches(regex)))
    }

    /// There is no value.
    #[must_use]
    pub fn absent() -> Condition {
        Condition(Test::Absent)
    }

    pub(super) fn is_met(&self, value: Option<&Json>) -> Met {
        let Some(value) = value else {
            return if matches!(self.0, Test::Absent) { Met::Yes } else { Met::Unfit };
        };
        let met = match &self.0 {
            Test::Absent => Some(false),
            Test::OneOf(values) => is_one_of(value, values),
            Test::Range { min, max } => Decimal::of(value).map(|number| {
                min.as_ref().is_none_or(|min| *min <= number) && max.as_ref().is_none_or(|max| number <= *max)
            }),
            Test::Matches(regex) => string(value).map(|text| regex.is_match(&text)),
        };
        met.map_or(Met::Unfit, |met| if met { Met::Yes } else { Met::No })
    }
}

/// Whether it is one of these; none if none of them has its type.
fn is_one_of(value: &Json, values: &[Json]) -> Option<bool> {
    let mut alike = values.iter().filter(|other| other.kind() == value.kind()).peekable();
    alike.peek()?;
    Some(match value.kind() {
        Kind::String => {
            let text = string(value)?;
            alike.any(|other| string(other).is_some_and(|other| other == text))
        }
        Kind::Number => {
            let number = Decimal::of(value)?;
            alike.any(|other| Decimal::of(other).is_some_and(|other| other == number))
        }
        _ => alike.any(|other| other == value),
    })
}

fn string(value: &Json) -> Option<String> {
    if value.kind() == Kind::String { value.decode().ok() } else { None }
}

/// What must hold, for a person: "is from 1 to 100".
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Test::OneOf(values) => {
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
            Test::Range { min: Some(min), max: Some(max) } => write!(f, "{min} to {max}"),
            Test::Range { min: Some(min), max: None } => write!(f, "{min} or more"),
            Test::Range { min: None, max: Some(max) } => write!(f, "{max} or less"),
            Test::Range { min: None, max: None } => f.write_str("any number"),
            Test::Matches(regex) => write!(f, "text that matches {regex}"),
            Test::Absent => f.write_str("a missing value"),
        }
    }
}

/// A decimal number of any length, compared without rounding.
#[derive(Clone, Debug)]
struct Decimal {
    text: Box<str>,
    is_negative: bool,
    /// The digits from the first to the last that is not 0; none for zero.
    digits: Box<[u8]>,
    /// Where the point stands, from the first digit on.
    point: i64,
}

impl Decimal {
    /// The number that a JSON text is.
    fn of(json: &Json) -> Option<Decimal> {
        if json.kind() == Kind::Number { Decimal::parse(json.as_str()) } else { None }
    }

    fn parse(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            // An exponent beyond all others is as good as any of that size.
            Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let zeros = digits.bytes().take_while(|byte| *byte == b'0').count();
        let digits = digits[zeros..].trim_end_matches('0').as_bytes().into();
        let point = i64::try_from(whole.len()).ok()?.saturating_add(exponent) - i64::try_from(zeros).ok()?;
        Some(Decimal { text: text.into(), is_negative: text.starts_with('-'), digits, point })
    }

    /// Below, at or above zero.
    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let signs = self.sign().cmp(&other.sign());
        if signs.is_ne() || self.sign() == 0 {
            return signs;
        }
        let sizes = (self.point, &self.digits).cmp(&(other.point, &other.digits));
        if self.is_negative { sizes.reverse() } else { sizes }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.to_owned()).unwrap()
    }

    fn check(condition: &Condition, value: &str, expected: Met) {
        assert_eq!(condition.is_met(Some(&json(value))), expected, "{condition}: {value}");
    }

    #[test]
    fn a_range_is_exact_and_includes_its_ends() {
        let range = Condition::range(Some("0.1"), Some("9007199254740993")).unwrap();
        for inside in ["0.1", "1e-1", "0.10000", "9007199254740993", "9.007199254740993E15", "100"] {
            check(&range, inside, Met::Yes);
        }
        for outside in ["0.09999999999999999999999", "9007199254740993.0000000001", "-5", "0", "1e400", "-0"]
        {
            check(&range, outside, Met::No);
        }
        for unfit in ["\"5\"", "null", "[5]", "true"] {
            check(&range, unfit, Met::Unfit);
        }
        assert_eq!(range.is_met(None), Met::Unfit);
    }

    #[test]
    fn values_are_compared_by_what_they_are_and_not_converted() {
        let condition = Condition::one_of([json("\"EUR\""), json("1.50"), json("true")]).unwrap();
        for inside in ["\"E\\u0055R\"", "1.5", "15e-1", "true"] {
            check(&condition, inside, Met::Yes);
        }
        for outside in ["\"USD\"", "15", "false"] {
            check(&condition, outside, Met::No);
        }
        check(&condition, "null", Met::Unfit);
        assert!(Condition::one_of([json("[1]")]).is_err());
    }

    #[test]
    fn expressions_and_absence() {
        let condition = Condition::matches("^acme/").unwrap();
        check(&condition, "\"acme/site\"", Met::Yes);
        check(&condition, "\"evil/acme/\"", Met::No);
        check(&condition, "5", Met::Unfit);
        assert!(matches!(Condition::matches("("), Err(ConditionError::Regex(_))));
        assert_eq!(Condition::absent().is_met(None), Met::Yes);
        check(&Condition::absent(), "null", Met::No);
    }

    proptest! {
        #[test]
        fn decimals_are_ordered_as_numbers_are(a in -10_000_i64..10_000, b in -10_000_i64..10_000, zeros in 0_usize..4) {
            let written = |number: i64| format!("{number}.{}e-2", "0".repeat(zeros + 1));
            let parse = |text: &str| Decimal::parse(text).unwrap();
            prop_assert_eq!(parse(&written(a)).cmp(&parse(&written(b))), a.cmp(&b));
            prop_assert_eq!(parse(&format!("{a}00")).cmp(&parse(&format!("{a}e2"))), Ordering::Equal);
        }
    }

    #[test]
    fn a_pattern_takes_time_that_grows_with_the_text_alone() {
        // SEC-L-22: a matcher that tries every way to match would not come to an end.
        let condition = Condition::matches("^(a+)+$").unwrap();
        let text = Json::encode_ref(&format!("{}b", "a".repeat(10_000))).unwrap();
        assert!(matches!(condition.is_met(Some(&text)), Met::No));
    }
}
