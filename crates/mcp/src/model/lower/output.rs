//! Lowers structured results and their schemas: until 2025-11-25 they must be objects.

use switchboard_core::{Json, Kind};

use crate::model::Revision;

/// The keywords that stay at the root when a schema is wrapped, so that `$ref` still finds its target.
const OF_THE_ROOT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// Lowers the output schema of a tool to `revision`. Before 2026-07-28, a schema whose root is not an object is wrapped in the
/// schema of `{"result": …}` (MCP-X-07).
///
/// # Examples
///
/// ```
/// use switchboard_core::Json;
/// use switchboard_mcp::model::{Revision, lower};
///
/// let schema = Json::parse(r#"{"type":"number"}"#)?;
/// assert_eq!(
///     lower::output_schema(&schema, Revision::V2025_11_25).as_str(),
///     r#"{"type":"object","properties":{"result":{"type":"number"}},"required":["result"]}"#
/// );
/// # Ok::<(), switchboard_core::NotJson>(())
/// ```
#[must_use]
pub fn output_schema(schema: &Json, revision: Revision) -> Json {
    if revision.is_stateless() {
        // Any schema is allowed, but it must be an object: not `true` or `false`.
        return as_object(schema);
    }
    if !wraps(schema, revision) {
        return schema.clone();
    }
    let mut root = String::new();
    let mut own = String::new();
    for (name, value) in as_object(schema).entries() {
        let part = if OF_THE_ROOT.contains(&&*name) { &mut root } else { &mut own };
        if !part.is_empty() {
            part.push(',');
        }
        part.push_str(&member(&name, &value));
    }
    if !root.is_empty() {
        root.insert(0, ',');
    }
    let text =
        format!(r#"{{"type":"object","properties":{{"result":{{{own}}}}},"required":["result"]{root}}}"#);
    Json::parse(text).expect("an object of checked members is JSON")
}

/// Whether [`output_schema`] wraps this schema, so that the results of the tool must be [wrapped](wrap) too.
#[must_use]
pub fn wraps(schema: &Json, revision: Revision) -> bool {
    !revision.is_stateless() && schema.get("type").is_none_or(|kind| kind.as_str() != r#""object""#)
}

/// Wraps a value as `{"result": value}`.
#[must_use]
pub fn wrap(value: &Json) -> Json {
    #[derive(serde::Serialize)]
    struct Wrapped<'a> {
        result: &'a Json,
    }
    Json::encode_ref(&Wrapped { result: value }).expect("a struct of checked JSON is JSON")
}

/// Lowers a structured result of a tool without an output schema. Before 2026-07-28, values other than objects are
/// [wrapped](wrap).
#[must_use]
pub fn structured(value: &Json, revision: Revision) -> Json {
    if revision.is_stateless() || value.kind() == Kind::Object { value.clone() } else { wrap(value) }
}

/// The schemas `true` and `false` as objects.
fn as_object(schema: &Json) -> Json {
    match schema.as_str() {
        "true" => Json::parse("{}").expect("this is JSON"),
        "false" => Json::parse(r#"{"not":{}}"#).expect("this is JSON"),
        _ => schema.clone(),
    }
}

/// A member as text.
pub(super) fn member(name: &str, value: &Json) -> String {
    let name = Json::encode_ref(name).expect("a string is JSON");
    format!("{name}:{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, revision: Revision, expected: &str) {
        let schema = Json::parse(schema.to_owned()).unwrap();
        assert_eq!(output_schema(&schema, revision).as_str(), expected);
    }

    // MCP-X-07
    #[test]
    fn schemas_of_objects_are_written_as_they_are() {
        let schema = r#"{"type": "object", "required": ["b", "a"], "properties": {"b": {}, "a": {}}}"#;
        for revision in Revision::ALL {
            check(schema, revision, schema);
        }
    }

    // MCP-X-07
    #[test]
    fn other_schemas_become_the_one_of_a_member_and_keep_their_references() {
        let list = r##"{"$defs":{"A":{"type":"null"}},"type":"array","items":{"$ref":"#/$defs/A"}}"##;
        let wrapped = concat!(
            r##"{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/A"}}},"##,
            r##""required":["result"],"$defs":{"A":{"type":"null"}}}"##
        );
        check(list, Revision::V2025_06_18, wrapped);
        check(list, Revision::V2026_07_28, list);
        check(
            "true",
            Revision::V2025_11_25,
            r#"{"type":"object","properties":{"result":{}},"required":["result"]}"#,
        );
        check("true", Revision::V2026_07_28, "{}");
    }

    // MCP-T-06
    #[test]
    fn values_are_wrapped_like_their_schemas() {
        let value = Json::parse("[1]").unwrap();
        assert_eq!(structured(&value, Revision::V2025_11_25).as_str(), r#"{"result":[1]}"#);
        assert_eq!(structured(&value, Revision::V2026_07_28).as_str(), "[1]");
    }
}
