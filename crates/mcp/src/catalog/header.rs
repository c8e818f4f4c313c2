//! Arguments that travel in headers too (MCP-N-11).

use serde_json::Value;

/// The member of a schema that says so.
const HEADER: &str = "x-mcp-header";

/// Members whose values are data, and not schemas.
pub(super) const DATA: [&str; 5] = ["const", "default", "enum", "example", "examples"];

/// An argument that travels in a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderParam {
    /// The header after `Mcp-Param-`, in lower case.
    pub(crate) header: String,
    /// Where the argument is: names of members, from the outside in.
    pub(crate) path: Vec<String>,
}

/// The arguments of a tool with this input schema that travel in headers too.
///
/// # Errors
///
/// What is wrong with the schema: clients do not list such a tool.
pub(crate) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    Ok(found)
}

/// Looks through a schema at this path of properties.
fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderParam>) -> Result<(), String> {
    let Value::Object(members) = schema else { return Ok(()) };
    if let Some(header) = members.get(HEADER) {
        let param = param(header, members.get("type"), path)?;
        if found.iter().any(|other| other.header == param.header) {
            return Err(format!("{HEADER} {:?} is used twice", param.header));
        }
        found.push(param);
    }
    for (name, value) in members {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, found)?;
                    path.pop();
                }
            }
            _ if DATA.contains(&name.as_str()) => {}
            _ => none_inside(value)?,
        }
    }
    Ok(())
}

fn param(header: &Value, kind: Option<&Value>, path: &[String]) -> Result<HeaderParam, String> {
    let at = path.join(".");
    if path.is_empty() {
        return Err(format!("{HEADER} is only for properties"));
    }
    let header = header.as_str().filter(|text| !text.is_empty() && text.bytes().all(is_token));
    let header = header.ok_or_else(|| format!("{HEADER} of {at:?} is not the name of a header"))?;
    match kind.and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {
            Ok(HeaderParam { header: header.to_ascii_lowercase(), path: path.to_vec() })
        }
        _ => {
            Err(format!("{HEADER} is only for strings, integers and booleans, and {at:?} is something else"))
        }
    }
}

/// A byte of a token (RFC 9110).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Parts of a schema that are not found through properties alone have no such arguments.
fn none_inside(part: &Value) -> Result<(), String> {
    match part {
        Value::Array(parts) => parts.iter().try_for_each(none_inside),
        Value::Object(members) if members.get(HEADER).is_some_and(Value::is_string) => {
            Err(format!("{HEADER} is only for properties of objects, not for items or alternatives"))
        }
        Value::Object(members) => {
            let schemas = members.iter().filter(|(name, _)| !DATA.contains(&name.as_str()));
            schemas.map(|(_, value)| value).try_for_each(none_inside)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // MCP-N-11
    #[test]
    fn headers_are_tokens_of_plain_properties() {
        let check = |properties: Value, expected: Result<&[(&str, &str)], &str>| {
            let found = header_params(&json!({"type": "object", "properties": properties}));
            let found = found.map(|found| {
                let pair = |param: HeaderParam| (param.header, param.path.join("."));
                found.into_iter().map(pair).collect::<Vec<_>>()
            });
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let found: Vec<_> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                    assert_eq!(found, expected);
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        };
        let header = |kind: &str, header: &str| json!({"type": kind, "x-mcp-header": header});
        check(json!({"a": header("string", "Region")}), Ok(&[("region", "a")]));
        check(
            json!({"a": {"type": "object", "properties": {"b": header("integer", "x!y")}}, "c": header("boolean", "Z")}),
            Ok(&[("x!y", "a.b"), ("z", "c")]),
        );
        // A property may have any name, and data are not schemas.
        check(json!({"x-mcp-header": {"type": "string"}}), Ok(&[]));
        check(json!({"a": {"type": "object", "default": {"x-mcp-header": "b"}}}), Ok(&[]));
        for wrong in ["", "a b", "a:b", "é", "a\nb"] {
            check(json!({"a": header("string", wrong)}), Err("not the name of a header"));
        }
        check(json!({"a": {"type": "string", "x-mcp-header": 5}}), Err("not the name of a header"));
        check(json!({"a": header("number", "a")}), Err("is something else"));
        check(json!({"a": {"x-mcp-header": "a"}}), Err("is something else"));
        check(json!({"a": header("string", "a"), "b": header("string", "A")}), Err("used twice"));
        check(json!({"a": {"type": "array", "items": header("string", "a")}}), Err("not for items"));
        check(json!({"a": {"anyOf": [header("string", "a")]}}), Err("not for items"));
        assert!(header_params(&json!({"type": "object", "x-mcp-header": "a"})).is_err());
        let referred = json!({"type": "object", "$defs": {"A": header("string", "a")}});
        assert!(header_params(&referred).is_err());
    }
}
