//! The JSON Schema of the configuration, for editors.

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kind};

/// The schema, generated from the table of keys.
pub(crate) fn schema() -> Value {
    let mut root = Map::new();
    for key in KEYS {
        place(&mut root, key.path, property(key));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Switchboard configuration",
        "type": "object",
        "additionalProperties": false,
        "properties": root,
    })
}

/// Puts a property at a dotted path, in objects that are created as needed.
fn place(properties: &mut Map<String, Value>, path: &str, property: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        properties.insert(path.to_owned(), property);
        return;
    };
    let table = properties
        .entry(first)
        .or_insert_with(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    if let Some(inner) = table.get_mut("properties").and_then(Value::as_object_mut) {
        place(inner, rest, property);
    }
}

fn property(key: &Key) -> Value {
    let mut schema = of_kind(&key.kind);
    schema["description"] = json!(key.about);
    if let Ok(toml) = key.default.parse::<toml::Value>()
        && let Ok(default) = serde_json::to_value(toml)
    {
        schema["default"] = default;
    }
    schema
}

fn of_kind(kind: &Kind) -> Value {
    let one_or_many = |one: Value| json!({"anyOf": [one, {"type": "array", "items": one}]});
    match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Duration => json!({"type": "string", "pattern": r"^[0-9.]+(ms|s|m|h)$"}),
        Kind::DurationOrNever => json!({"type": "string", "pattern": r"^([0-9.]+(ms|s|m|h)|never)$"}),
        Kind::Size => json!({"type": "string", "pattern": r"^[0-9]+([kKmMgG]?(iB|B)?)$"}),
        Kind::Text | Kind::Path => json!({"type": "string"}),
        Kind::Choice(allowed) => json!({"enum": allowed}),
        Kind::Texts => one_or_many(json!({"type": ["string", "integer"]})),
        Kind::Named => json!({
            "type": "object",
            "additionalProperties": one_or_many(json!({"type": "string"})),
        }),
        Kind::Weights => json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}),
        Kind::Conditions => json!({"type": "object", "propertyNames": {"pattern": "^/"}}),
        Kind::Tables(keys) => {
            let properties: Map<String, Value> =
                keys.iter().map(|key| (key.path.to_owned(), property(key))).collect();
            one_or_many(json!({"type": "object", "additionalProperties": false, "properties": properties}))
        }
    }
}
