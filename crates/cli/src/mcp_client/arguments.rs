//! The arguments of a tool as they are written on a command line: `name=value`, read as the schema of the tool says.

use serde_json::Value;
use switchboard::Json;

use crate::discovery::Method;
use crate::failure::Failure;
use crate::{params, suggest};

/// How many references or alternatives of a schema are followed, one within the other.
const DEPTH: usize = 8;

/// Reads the arguments of a tool with this schema, which is described like this.
pub(super) fn read(words: &[String], schema: &Json, tool: &Method) -> Result<Option<Json>, Failure> {
    let is_whole = matches!(words, [only] if only == "-" || only.starts_with('{'));
    if is_whole {
        return params::read(words);
    }
    let schema: Value = schema.decode().unwrap_or_default();
    let mut given: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in words {
        let (name, value) = params::name_and_value(word).ok_or_else(|| {
            wrong(format!("{word:?} has no name; arguments are written as NAME=VALUE"), tool)
        })?;
        match given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => given.push((name, vec![value])),
        }
    }
    let mut members = Vec::new();
    for (name, values) in &given {
        let of = schema.pointer("/properties").and_then(|properties| properties.get(*name));
        if of.is_none() && !tool.params.is_empty() && !tool.takes_others {
            let names = tool.params.iter().map(|param| param.name.as_str());
            let question = suggest::did_you_mean(name, names).map(|question| format!("; {question}"));
            return Err(wrong(format!("unknown argument {name:?}{}", question.unwrap_or_default()), tool));
        }
        let value =
            several(of, &schema, values).map_err(|why| wrong(format!("argument {name:?}: {why}"), tool))?;
        members.push(format!("{}:{value}", Value::from(*name)));
    }
    let is_given = |name: &str| given.iter().any(|(known, _)| *known == name);
    let missing = tool.params.iter().filter(|param| param.is_required && !is_given(&param.name));
    let missing: Vec<&str> = missing.map(|param| param.name.as_str()).collect();
    if !missing.is_empty() {
        let plural = if missing.len() == 1 { "" } else { "s" };
        return Err(wrong(format!("missing argument{plural}: {}", missing.join(", ")), tool));
    }
    let text = format!("{{{}}}", members.join(","));
    Json::parse(text).map(Some).map_err(|error| Failure::usage(error.to_string()))
}

fn wrong(what: String, tool: &Method) -> Failure {
    Failure::usage(what).advise(suggest::hints(tool))
}

/// The value of an argument. One that is given more than once is a list.
fn several(of: Option<&Value>, root: &Value, words: &[&str]) -> Result<Json, String> {
    let of = of.map(|schema| resolved(schema, root));
    let kinds = of.map(|schema| kinds(schema, root, 0)).unwrap_or_default();
    if let [word] = words {
        // A single element of a list may be written as it is.
        let is_element = kinds == ["array"] && !word.starts_with('[');
        if !is_element {
            return value(&kinds, word);
        }
    } else if !kinds.is_empty() && !kinds.contains(&"array") {
        return Err("it is given more than once".to_owned());
    }
    let items = of.and_then(|schema| schema.get("items")).map(|items| self::kinds(items, root, 0));
    let items = items.unwrap_or_default();
    let values: Result<Vec<Json>, String> = words.iter().map(|word| value(&items, word)).collect();
    Json::encode_ref(&values?).map_err(|error| error.to_string())
}

/// The value of a word, which must be of one of these kinds; of any if there are none. A word that looks like a number is a text where the
/// schema wants one.
fn value(kinds: &[&str], word: &str) -> Result<Json, String> {
    let parsed = Json::parse(word.to_owned()).ok();
    let is = |json: &Json, kind: &str| {
        let found = serde_json::from_str::<Value>(json.as_str()).unwrap_or_default();
        match kind {
            "integer" => found.is_i64() || found.is_u64() || found.as_f64().is_some_and(|n| n.fract() == 0.0),
            "number" => found.is_number(),
            "boolean" => found.is_boolean(),
            "object" => found.is_object(),
            "array" => found.is_array(),
            "null" => found.is_null(),
            "string" => found.is_string(),
            _ => true,
        }
    };
    let fits = parsed.filter(|json| kinds.is_empty() || kinds.iter().any(|kind| is(json, kind)));
    match fits {
        Some(json) => Ok(json),
        None if kinds.is_empty() || kinds.contains(&"string") => {
            Json::encode_ref(word).map_err(|error| error.to_string())
        }
        None => Err(format!("expected {}, not {word:?}", kinds.join(" or "))),
    }
}

/// The kinds of values that a schema takes; none if that is not said.
fn kinds<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> Vec<&'a str> {
    let schema = resolved(schema, root);
    if depth > DEPTH {
        return Vec::new();
    }
    match schema.get("type") {
        Some(Value::String(kind)) => return vec![kind],
        Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
        _ => {}
    }
    let constants = schema.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !constants.is_empty() || schema.get("const").is_some() {
        return constants.iter().chain(schema.get("const")).map(kind).collect();
    }
    let parts = ["oneOf", "anyOf"].iter().find_map(|member| schema.get(member)?.as_array());
    let Some(parts) = parts else { return Vec::new() };
    let parts: Vec<Vec<&str>> = parts.iter().map(|part| kinds(part, root, depth + 1)).collect();
    // One that takes anything.
    if parts.iter().any(Vec::is_empty) { Vec::new() } else { parts.concat() }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a reference within the schema refers to.
fn resolved<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..DEPTH {
        let to = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        match to.and_then(|pointer| root.pointer(pointer)) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_client::tools::described;
    use switchboard::mcp::model::Tool;

    fn arguments(words: &[&str]) -> Result<String, String> {
        let schema = r##"{"type":"object","required":["city"],"additionalProperties":false,"properties":{
            "city":{"type":"string"},"zip":{"type":["string","null"]},"days":{"type":"integer"},
            "exact":{"$ref":"#/$defs/Flag"},"tags":{"type":"array","items":{"type":"string"}},
            "unit":{"enum":["C","F"]},"any":{},"size":{"anyOf":[{"type":"number"},{"type":"string"}]}},
            "$defs":{"Flag":{"type":"boolean"}}}"##;
        let schema = Json::parse(schema).unwrap();
        let tool = described(&Tool::new("weather", schema.clone()));
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match read(&words, &schema, &tool) {
            Ok(json) => Ok(json.unwrap().to_string()),
            Err(Failure::Trouble(trouble)) => Err(format!("{}\n{}", trouble.what, trouble.advice.unwrap())),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_word_becomes_what_the_schema_wants() {
        let check = |words: &[&str], expected: &str| {
            assert_eq!(arguments(words).as_deref(), Ok(expected), "{words:?}");
        };
        check(&["city=5"], r#"{"city":"5"}"#);
        check(&["city=\"a b\""], r#"{"city":"a b"}"#);
        check(&["city=a b", "zip=01234", "days=3"], r#"{"city":"a b","zip":"01234","days":3}"#);
        check(&["city=x", "zip=null", "exact=true"], r#"{"city":"x","zip":null,"exact":true}"#);
        check(&["city=x", "tags=1", "tags=2"], r#"{"city":"x","tags":["1","2"]}"#);
        check(&["city=x", "tags=[\"a\"]"], r#"{"city":"x","tags":["a"]}"#);
        check(&["city=x", "tags=a"], r#"{"city":"x","tags":["a"]}"#);
        check(
            &["city=x", "unit=C", "any=[1]", "size=1.50"],
            r#"{"city":"x","unit":"C","any":[1],"size":1.50}"#,
        );
        check(&["city=x", "size=big"], r#"{"city":"x","size":"big"}"#);
        check(&[r#"{"days":1}"#], r#"{"days":1}"#);
    }

    #[test]
    fn what_does_not_fit_is_explained_with_what_would() {
        let check = |words: &[&str], expected: &str| {
            let told = arguments(words).unwrap_err();
            assert!(told.starts_with(expected), "{words:?}: {told}");
            assert!(told.contains("expected weather(city, zip?, days?"), "{told}");
            assert!(told.contains("\n  city: string"), "{told}");
        };
        check(&[], "missing argument: city\n");
        check(&["city=x", "days=soon"], "argument \"days\": expected integer, not \"soon\"");
        check(&["city=x", "exact=1"], "argument \"exact\": expected boolean, not \"1\"");
        check(&["city=x", "dais=1"], "unknown argument \"dais\"; did you mean `days`?");
        check(&["Paris"], "\"Paris\" has no name");
        check(&["city=x", "days=1", "days=2"], "argument \"days\": it is given more than once");
    }
}
