//! Equivalent schemas in forms that more tools understand.

use serde_json::{Map, Value};

/// The formats that draft 7 of JSON Schema defines.
const DEFINED: [&str; 17] = [
    "date",
    "date-time",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
];

/// Which formats are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formats {
    /// All of them.
    All,
    /// Those that JSON Schema defines: validators that are strict fail on others.
    Defined,
}

/// Rewrites a schema. What everything fits is `{}`, for programs that make examples by a schema fail on `true`.
pub(super) fn write(schema: &mut Value, formats: Formats) {
    match schema {
        Value::Bool(true) => *schema = Value::Object(Map::new()),
        Value::Object(members) => {
            let is_defined = |format: &Value| format.as_str().is_some_and(|format| DEFINED.contains(&format));
            if formats == Formats::Defined && members.get("format").is_some_and(|format| !is_defined(format))
            {
                members.remove("format");
            }
            members.iter_mut().for_each(|(keyword, value)| write_below(keyword, value, formats));
        }
        _ => {}
    }
}

/// Rewrites what is a schema under this keyword.
fn write_below(keyword: &str, value: &mut Value, formats: Formats) {
    match (keyword, value) {
        ("items" | "allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
            schemas.iter_mut().for_each(|schema| write(schema, formats));
        }
        ("properties" | "patternProperties" | "definitions" | "dependencies", Value::Object(schemas)) => {
            schemas.values_mut().for_each(|schema| write(schema, formats));
        }
        // As everybody writes it.
        ("additionalProperties" | "additionalItems", Value::Bool(_)) => {}
        (
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else",
            schema,
        ) => write(schema, formats),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_are_rewritten_and_values_that_look_like_them_are_not() {
        let mut schema = json!({
            "properties": {"items": true, "when": {"format": "date-time"}, "n": {"format": "int64"}},
            "additionalProperties": true, "items": [true, {"not": true}], "default": {"items": true, "format": "x"},
            "enum": [true], "dependencies": {"a": ["b"], "c": true}, "format": 7,
        });
        let before = schema.clone();
        write(&mut schema, Formats::All);
        assert_eq!(schema["properties"]["n"], before["properties"]["n"]);
        assert_eq!(schema["properties"]["items"], json!({}));
        write(&mut schema, Formats::Defined);
        let expected = json!({
            "properties": {"items": {}, "when": {"format": "date-time"}, "n": {}},
            "additionalProperties": true, "items": [{}, {"not": {}}], "default": {"items": true, "format": "x"},
            "enum": [true], "dependencies": {"a": ["b"], "c": {}},
        });
        assert_eq!(schema, expected);
    }
}
