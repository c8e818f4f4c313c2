//! The constraints of schemas on numbers and lengths, in plain words.

use serde_json::{Map, Value};

/// The numbers that a schema asks for: `a whole number from 0 to 255`.
pub(super) fn number(schema: &Map<String, Value>) -> String {
    let limit = |keyword: &str| schema.get(keyword).filter(|value| value.is_number()).map(amount);
    let least = limit("minimum").map(|limit| ("of at least", limit));
    let least = least.or_else(|| Some(("above", limit("exclusiveMinimum")?)));
    let most = limit("maximum").map(|limit| ("up to", limit));
    let most = most.or_else(|| Some(("below", limit("exclusiveMaximum")?)));
    let bounds = match (least, most) {
        (Some(("of at least", least)), Some(("up to", most))) => format!(" from {least} to {most}"),
        (Some((begin, least)), Some((end, most))) => format!(" {begin} {least} and {end} {most}"),
        (Some((word, limit)), None) | (None, Some((word, limit))) => format!(" {word} {limit}"),
        (None, None) => String::new(),
    };
    let step = limit("multipleOf").map(|step| format!(", a multiple of {step}")).unwrap_or_default();
    format!("{}{bounds}{step}", if is_whole(schema) { "a whole number" } else { "a number" })
}

/// How long something may be: `a string of 1 to 5 characters`.
pub(super) fn length(
    schema: &Map<String, Value>,
    what: &str,
    (least, most): (&str, &str),
    parts: &str,
) -> String {
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64).map(|limit| limit.to_string());
    // "1 characters" reads badly, and every name of parts here is a plural.
    let parts_of = |count: &str| if count == "1" { parts.trim_end_matches('s') } else { parts }.to_owned();
    match (limit(least).filter(|least| least != "0"), limit(most)) {
        (Some(least), Some(most)) if least == most => format!("{what} of {least} {}", parts_of(&least)),
        (Some(least), Some(most)) => format!("{what} of {least} to {most} {parts}"),
        (Some(least), None) => format!("{what} of at least {least} {}", parts_of(&least)),
        (None, Some(most)) => format!("{what} of at most {most} {}", parts_of(&most)),
        (None, None) => what.to_owned(),
    }
}

/// The parts of a list, as one says them: `a, b or c`.
pub(super) fn either(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn is_whole(schema: &Map<String, Value>) -> bool {
    let is = |kind: &Value, name: &str| kind == name;
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(|kind| is(kind, "integer")) && !kinds.iter().any(|kind| is(kind, "number"))
        }
        Some(kind) => is(kind, "integer"),
        None => false,
    }
}

/// A number without what need not be said.
fn amount(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_are_said_together() {
        for (schema, expected) in [
            (json!({"type": "integer"}), "a whole number"),
            (json!({"type": "number", "minimum": 0.0}), "a number of at least 0"),
            (
                json!({"type": ["integer", "null"], "minimum": 0, "maximum": 255}),
                "a whole number from 0 to 255",
            ),
            (json!({"type": ["integer", "number"], "maximum": 9.5}), "a number up to 9.5"),
            (json!({"exclusiveMinimum": 0}), "a number above 0"),
            (json!({"exclusiveMinimum": 0, "maximum": 1}), "a number above 0 and up to 1"),
            (json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}), "a number above 0 and below 1"),
            (json!({"minimum": 0, "exclusiveMaximum": 1}), "a number of at least 0 and below 1"),
            (json!({"exclusiveMaximum": 1}), "a number below 1"),
            (
                json!({"type": "integer", "multipleOf": 5, "minimum": 5}),
                "a whole number of at least 5, a multiple of 5",
            ),
            (json!({"minimum": "no number"}), "a number"),
        ] {
            assert_eq!(number(schema.as_object().unwrap()), expected, "{schema}");
        }
    }

    #[test]
    fn lengths_are_said_together() {
        for (schema, expected) in [
            (json!({"minLength": 1}), "a string of at least 1 character"),
            (json!({"maxLength": 5}), "a string of at most 5 characters"),
            (json!({"minLength": 0, "maxLength": 5}), "a string of at most 5 characters"),
            (json!({"minLength": 2, "maxLength": 5}), "a string of 2 to 5 characters"),
            (json!({"minLength": 2, "maxLength": 2}), "a string of 2 characters"),
            (json!({}), "a string"),
        ] {
            let said =
                length(schema.as_object().unwrap(), "a string", ("minLength", "maxLength"), "characters");
            assert_eq!(said, expected, "{schema}");
        }
    }
}
