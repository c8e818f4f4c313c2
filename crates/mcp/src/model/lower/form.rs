//! Lowers the schemas of forms to 2025-06-18.

use switchboard_core::{Json, Kind};

use super::output::member;
use crate::model::Revision;

/// Lowers the schema of a form to `revision`. None if the revision cannot express it: 2025-06-18 has no multi-select fields.
///
/// In 2025-06-18, enums with titles use `enumNames`, and only booleans have a default (MCP-EL-01).
///
/// # Examples
///
/// ```
/// use switchboard_core::Json;
/// use switchboard_mcp::model::{Revision, lower};
///
/// let schema = Json::parse(
///     r#"{"type":"object","properties":{"seat":{"type":"string","oneOf":[{"const":"a","title":"Aisle"}]}}}"#,
/// )?;
/// assert_eq!(
///     lower::requested_schema(&schema, Revision::V2025_06_18).unwrap().as_str(),
///     r#"{"type":"object","properties":{"seat":{"type":"string","enum":["a"],"enumNames":["Aisle"]}}}"#
/// );
/// # Ok::<(), switchboard_core::NotJson>(())
/// ```
#[must_use]
pub fn requested_schema(schema: &Json, revision: Revision) -> Option<Json> {
    if revision >= Revision::V2025_11_25 {
        return Some(schema.clone());
    }
    let mut members = Vec::new();
    for (name, value) in schema.entries() {
        match &*name {
            "$schema" => {}
            "properties" => members.push(member("properties", &properties(&value)?)),
            _ => members.push(member(&name, &value)),
        }
    }
    Some(object(&members))
}

fn properties(properties: &Json) -> Option<Json> {
    let lowered = properties.entries().map(|(name, schema)| Some(member(&name, &property(&schema)?)));
    Some(object(&lowered.collect::<Option<Vec<_>>>()?))
}

/// Lowers the schema of a field. None if it is a multi-select field.
fn property(schema: &Json) -> Option<Json> {
    let kind = schema.get("type")?;
    if kind.as_str() == r#""array""# {
        return None;
    }
    let is_bool = kind.as_str() == r#""boolean""#;
    let mut members = Vec::new();
    for (name, value) in schema.entries() {
        match &*name {
            "default" if !is_bool => {}
            "oneOf" | "anyOf" if value.kind() == Kind::Array => {
                let [values, titles] = ["const", "title"].map(|part| {
                    let parts = value.elements().filter_map(|option| option.get(part));
                    Json::encode_ref(&parts.collect::<Vec<_>>()).expect("a list of JSON is JSON")
                });
                members.extend([member("enum", &values), member("enumNames", &titles)]);
            }
            _ => members.push(member(&name, &value)),
        }
    }
    Some(object(&members))
}

fn object(members: &[String]) -> Json {
    Json::parse(format!("{{{}}}", members.join(","))).expect("an object of checked members is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(property: &str, expected: Option<&str>) {
        let form = |property: &str| format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#);
        let schema = Json::parse(form(property)).unwrap();
        let lowered = requested_schema(&schema, Revision::V2025_06_18);
        assert_eq!(lowered.map(|schema| schema.to_string()), expected.map(form));
        assert_eq!(requested_schema(&schema, Revision::V2025_11_25), Some(schema));
    }

    // MCP-EL-01
    #[test]
    fn older_forms_have_no_titled_options_no_lists_and_fewer_defaults() {
        check(
            r#"{"type":"string","title":"A","oneOf":[{"const":"x","title":"X"},{"title":"Y","const":"y"}],"default":"x"}"#,
            Some(r#"{"type":"string","title":"A","enum":["x","y"],"enumNames":["X","Y"]}"#),
        );
        check(r#"{"type":"boolean","default":true}"#, Some(r#"{"type":"boolean","default":true}"#));
        check(r#"{"type":"integer","minimum":1,"default":3}"#, Some(r#"{"type":"integer","minimum":1}"#));
        check(r#"{"type":"array","items":{"type":"string","enum":["x"]}}"#, None);
    }
}
