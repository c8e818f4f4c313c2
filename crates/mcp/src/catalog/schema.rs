//! Schemas of tools: complete in themselves, with as few references as possible, because many hosts do not follow them.

use serde_json::{Map, Value, json};

use super::header::DATA;

const PREFIX: &str = "#/$defs/";

/// The most that inlining may add.
const LARGEST: usize = 64 << 10;

/// A schema without references to the definitions of other documents: definitions are put in place, and those that contain
/// themselves under `$defs`.
pub(crate) fn complete(schema: &Value, definitions: &Map<String, Value>) -> Value {
    let mut used = Vec::new();
    let mut inlined = inline(schema, definitions, &mut Vec::new(), &mut used);
    if inlined.to_string().len() > LARGEST.max(2 * schema.to_string().len()) {
        used = definitions.keys().cloned().collect();
        inlined = schema.clone();
    }
    if used.is_empty() {
        return inlined;
    }
    let mut defs = Map::new();
    while let Some(name) = used.pop() {
        if let Some(definition) = definitions.get(&name)
            && !defs.contains_key(&name)
        {
            // Its own references stay, so it is finite.
            collect(definition, &mut used);
            defs.insert(name, definition.clone());
        }
    }
    inlined["$defs"] = Value::Object(defs);
    inlined
}

fn inline(
    schema: &Value,
    definitions: &Map<String, Value>,
    inside: &mut Vec<String>,
    used: &mut Vec<String>,
) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(|item| inline(item, definitions, inside, used)).collect(),
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(PREFIX));
            if let Some(name) = name
                && let Some(definition) = definitions.get(name)
            {
                if inside.iter().any(|outer| outer == name) || is_recursive(name, definitions) {
                    used.push(name.to_owned());
                    return schema.clone();
                }
                inside.push(name.to_owned());
                let mut whole = inline(definition, definitions, inside, used);
                inside.pop();
                if let Value::Object(whole) = &mut whole {
                    let beside = members.iter().filter(|(member, _)| *member != "$ref");
                    whole.extend(beside.map(|(member, value)| (member.clone(), value.clone())));
                }
                return whole;
            }
            let members = members.iter();
            members.map(|(name, value)| (name.clone(), inline(value, definitions, inside, used))).collect()
        }
        other => other.clone(),
    }
}

/// Whether a definition contains itself.
fn is_recursive(name: &str, definitions: &Map<String, Value>) -> bool {
    let (mut open, mut seen) = (vec![name.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        let mut found = Vec::new();
        if let Some(definition) = definitions.get(&next) {
            collect(definition, &mut found);
        }
        for inner in found {
            if inner == name {
                return true;
            }
            if !seen.contains(&inner) {
                seen.push(inner.clone());
                open.push(inner);
            }
        }
    }
    false
}

/// The names of the definitions that a schema refers to.
fn collect(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(members) => {
            for (member, value) in members {
                match value.as_str().and_then(|to| to.strip_prefix(PREFIX)) {
                    Some(name) if member == "$ref" => names.push(name.to_owned()),
                    _ => collect(value, names),
                }
            }
        }
        _ => {}
    }
}

/// Describes properties that may be left out without `null`, which some hosts reject: `{"type": ["string", "null"]}` becomes
/// `{"type": "string"}`.
pub(crate) fn without_nulls(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_nulls),
        Value::Object(members) => {
            let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let optional = properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name)));
                optional.for_each(|(_, property)| without_null(property));
            }
            let schemas = members.iter_mut().filter(|(name, _)| !DATA.contains(&name.as_str()));
            schemas.for_each(|(_, value)| without_nulls(value));
        }
        _ => {}
    }
}

/// A schema that allowed `null`, without it.
fn without_null(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    let is_null = |schema: &Value| *schema == json!({"type": "null"});
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            members.insert("type".to_owned(), kind);
        }
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.retain(|choice| !is_null(choice));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            members.remove("anyOf");
            for (name, value) in only {
                members.entry(name).or_insert(value);
            }
        }
    }
    if members.get("default") == Some(&Value::Null) {
        members.remove("default");
    }
}

/// The mark of a schema: `x-mcp`, which the types of results have that are not plain data.
pub(crate) fn mark(schema: &Value) -> Option<&str> {
    schema.get("x-mcp").and_then(Value::as_str)
}

/// An input schema for a method whose parameters are unknown.
pub(crate) fn open_object() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_is_never_null() {
        let check = |schema: Value, expected: Value| {
            let mut whole = json!({"type": "object", "properties": {"a": schema}});
            without_nulls(&mut whole);
            assert_eq!(whole["properties"]["a"], expected);
        };
        check(json!({"type": ["string", "null"]}), json!({"type": "string"}));
        check(json!({"type": ["integer", "null"], "default": null}), json!({"type": "integer"}));
        check(json!({"type": ["string", "integer"]}), json!({"type": ["string", "integer"]}));
        check(
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"type": "string", "enum": ["a"]}),
        );
        check(
            json!({"anyOf": [{"type": "object", "description": "x"}, {"type": "null"}], "description": "y"}),
            json!({"type": "object", "description": "y"}),
        );
        check(
            json!({"type": "array", "items": {"properties": {"b": {"type": ["string", "null"]}}}}),
            json!({"type": "array", "items": {"properties": {"b": {"type": "string"}}}}),
        );
        // What has to be given may be null.
        let required = json!({"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]});
        let mut same = required.clone();
        without_nulls(&mut same);
        assert_eq!(same, required);
    }

    #[test]
    fn definitions_are_put_in_place_and_recursive_ones_kept() {
        let definitions = json!({
            "City": {"type": "object", "properties": {"at": {"$ref": "#/$defs/Point"}}},
            "Point": {"type": "array"},
            "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}, "p": {"$ref": "#/$defs/Point"}}},
        });
        let definitions = definitions.as_object().unwrap();
        let check = |schema: Value, expected: Value| assert_eq!(complete(&schema, definitions), expected);
        check(
            json!({"properties": {"city": {"$ref": "#/$defs/City", "description": "where"}}}),
            json!({"properties": {"city": {
                "type": "object",
                "description": "where",
                "properties": {"at": {"type": "array"}},
            }}}),
        );
        let kept = complete(&json!({"items": {"$ref": "#/$defs/Tree"}}), definitions);
        assert_eq!(kept["items"], json!({"$ref": "#/$defs/Tree"}));
        assert_eq!(kept["$defs"]["Tree"], definitions["Tree"]);
        assert_eq!(kept["$defs"]["Point"], definitions["Point"]);
        assert!(kept["$defs"].get("City").is_none());
    }
}
