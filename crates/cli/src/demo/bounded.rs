//! Numbers within bounds, which the schema states and the handler enforces from the same constants.

use std::borrow::Cow;
use std::fmt::Display;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::faults::Unacceptable;

/// What a parameter may be.
pub(super) trait Bounds {
    /// What kind of number it is.
    type Of: Copy + Default + PartialOrd + Display + Serialize + DeserializeOwned + JsonSchema;
    /// The name of the parameter, for messages.
    const NAME: &'static str;
    /// The least number.
    const LEAST: Self::Of;
    /// The greatest number, if there is one.
    const MOST: Option<Self::Of>;
}

/// A number whose value is to be had only if it is within these bounds.
///
/// It is read before it is checked: a method says itself, with -32001, that well-formed data is not acceptable.
pub(super) struct Bounded<B: Bounds>(B::Of);

impl<B: Bounds> Bounded<B> {
    /// This number, to be checked as any other.
    pub(super) fn new(number: B::Of) -> Bounded<B> {
        Bounded(number)
    }

    /// The number.
    ///
    /// # Errors
    ///
    /// When it is out of bounds.
    pub(super) fn get(&self) -> Result<B::Of, Unacceptable> {
        let (number, name, least) = (self.0, B::NAME, B::LEAST);
        if number >= least && B::MOST.is_none_or(|most| number <= most) {
            return Ok(number);
        }
        Err(Unacceptable(match B::MOST {
            Some(most) => format!("{name} must be from {least} to {most}").into(),
            None if least == B::Of::default() => format!("{name} must not be negative").into(),
            None => format!("{name} must be at least {least}").into(),
        }))
    }
}

impl<'de, B: Bounds> Deserialize<'de> for Bounded<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<B>, D::Error> {
        B::Of::deserialize(deserializer).map(Bounded)
    }
}

impl<B: Bounds> Serialize for Bounded<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<B: Bounds> JsonSchema for Bounded<B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Bounded_{}", B::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = B::Of::json_schema(generator);
        schema.insert("minimum".to_owned(), written(B::LEAST));
        if let Some(most) = B::MOST {
            schema.insert("maximum".to_owned(), written(most));
        }
        schema
    }
}

/// A number as a person would write it: without a fraction if it has none.
fn written(number: impl Serialize) -> Value {
    let value = serde_json::to_value(number).expect("numbers are JSON");
    match value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15) {
        Some(whole) => Value::from(whole as i64),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::{Call, Code, Json, Outcome, ParamDescription, Router, Service};

    /// What a schema of numbers says, as the texts of numbers that are taken and of such that are not.
    struct Claim {
        taken: Vec<String>,
        refused: Vec<String>,
    }

    impl Claim {
        /// None if the schema is not one of numbers alone.
        fn of(schema: &Value) -> Option<Claim> {
            let kinds: Vec<&str> = match &schema["type"] {
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                kind => kind.as_str().into_iter().collect(),
            };
            let is_whole = kinds.contains(&"integer");
            if !is_whole && !kinds.contains(&"number") || kinds.contains(&"string") {
                return None;
            }
            for keyword in ["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "anyOf"] {
                assert!(schema.get(keyword).is_none(), "{keyword} is not known to this test: {schema}");
            }
            // Where there are no bounds, those of the type hold, which its format tells.
            let widest = match schema["format"].as_str() {
                Some("uint64") => [0.to_string(), u64::MAX.to_string()],
                Some("double") => [f64::MIN, f64::MAX].map(|number| format!("{number:e}")),
                _ => [i128::MIN, i128::MAX].map(|number| number.to_string()),
            };
            let [least, most] = widest;
            let mut claim = Claim { taken: Vec::new(), refused: Vec::new() };
            claim.side(schema.get("minimum"), -1, least, is_whole);
            claim.side(schema.get("maximum"), 1, most, is_whole);
            Some(claim)
        }

        /// Adds what is on the edge of one side, and what is just beyond it.
        fn side(&mut self, bound: Option<&Value>, step: i64, widest: String, is_whole: bool) {
            let Some(bound) = bound else { return self.taken.push(widest) };
            self.taken.push(bound.to_string());
            if let Some(whole) = bound.as_i64() {
                self.refused.push((whole + step).to_string());
            }
            if !is_whole {
                let bound = bound.as_f64().unwrap();
                let beyond = if step < 0 { bound.next_down() } else { bound.next_up() };
                self.refused.push(format!("{beyond:e}"));
            }
        }
    }

    /// Whether a method takes this number at this place, with some numbers at the others: what it makes of both may be too large.
    async fn takes(
        router: &Router,
        method: &str,
        params: &[ParamDescription],
        at: usize,
        text: &str,
    ) -> bool {
        let fillers = |param: &ParamDescription| match Claim::of(&param.schema) {
            Some(claim) => [claim.taken, ["0", "1", "-1"].map(str::to_owned).into()].concat(),
            None if param.schema["type"] == "string" => vec!["\"text\"".to_owned()],
            None => vec![param.default.clone().unwrap_or_default().to_string()],
        };
        let choices: Vec<Vec<String>> = params
            .iter()
            .enumerate()
            .map(|(place, param)| if place == at { vec![text.to_owned()] } else { fillers(param) })
            .collect();
        let most = choices.iter().map(Vec::len).max().unwrap_or(1);
        for choice in 0..most {
            let chosen: Vec<&str> = choices.iter().map(|texts| &*texts[choice % texts.len()]).collect();
            let params = Json::parse(format!("[{}]", chosen.join(","))).unwrap();
            let is_refused = match router.call(&Call::new(method, Some(params))).await.outcome {
                Outcome::Error(error) => {
                    [Code::VALIDATION_FAILED, Code::INVALID_PARAMS].contains(&error.code)
                }
                _ => false,
            };
            if !is_refused {
                return true;
            }
        }
        false
    }

    #[tokio::test(start_paused = true)]
    async fn every_method_takes_exactly_the_numbers_that_its_schema_allows() {
        let router = super::super::router().unwrap();
        let mut bounded = Vec::new();
        for method in router.describe().methods {
            let params = method.params.unwrap_or_default();
            for (at, param) in params.iter().enumerate() {
                let Some(claim) = Claim::of(&param.schema) else { continue };
                let name = format!("{}({})", method.name, param.name);
                for text in &claim.taken {
                    assert!(takes(&router, &method.name, &params, at, text).await, "{name} refuses {text}");
                }
                for text in &claim.refused {
                    assert!(!takes(&router, &method.name, &params, at, text).await, "{name} takes {text}");
                }
                if !claim.refused.is_empty() {
                    bounded.push(name);
                }
            }
        }
        let expected = [
            "count(to)",
            "getUser(id)",
            "getUserProfile(id)",
            "math/add_stream(a)",
            "math/add_stream(b)",
            "math/sqrt(x)",
            "ticks(count)",
            "ticks(seconds)",
            "transfer(amount)",
            "transfer(timestamp)",
            "wait(seconds)",
            "watch(seconds)",
        ];
        assert_eq!(bounded, expected);
    }
}
