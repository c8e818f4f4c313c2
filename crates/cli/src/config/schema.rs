//! The JSON Schema of the configuration, for editors.

use serde_json::{Map, Value, json};

use super::forms::SHORT;
use super::key::{Form, Key, Kind, find_in};
use super::keys::KEYS;

/// The schema, generated from the table of keys.
pub(crate) fn schema() -> Value {
    let mut schema = table(KEYS);
    for (name, key) in SHORT {
        let long = schema["properties"][name].take();
        let short = find_in(KEYS, key).map(|key| of_kind(&key.kind));
        schema["properties"][name] =
            any_of(short.into_iter().chain([json!({"const": false}), long]).collect());
    }
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Switchboard configuration");
    schema
}

/// A table with these keys.
fn table(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        place(&mut properties, key.path, property(key));
    }
    json!({"type": "object", "additionalProperties": false, "properties": properties})
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
        Kind::Off => json!({"const": false}),
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Whole => json!({"type": "integer", "minimum": 0}),
        Kind::Code => json!({"type": "integer"}),
        Kind::Duration => json!({"type": "string", "pattern": r"^[0-9.]+(ms|s|m|h|d)$"}),
        Kind::DurationOrNever => json!({"type": "string", "pattern": r"^([0-9.]+(ms|s|m|h|d)|never)$"}),
        Kind::Percent => json!({"type": "string", "pattern": r"^[0-9.]+ *%$"}),
        Kind::Factor => json!({"type": "string", "pattern": r"^[0-9.]+x$"}),
        Kind::Pointer => json!({"type": "string", "pattern": "^/"}),
        Kind::Size => json!({"type": "string", "pattern": r"^[0-9]+([kKmMgG]?(iB|B)?)$"}),
        Kind::Text | Kind::Secret | Kind::Path => json!({"type": "string"}),
        Kind::Choice(allowed) => json!({"enum": allowed}),
        Kind::Texts => one_or_many(json!({"type": ["string", "integer"]})),
        Kind::Named(inner) => json!({"type": "object", "additionalProperties": of_kind(inner)}),
        Kind::Conditions => json!({"type": "object", "propertyNames": {"pattern": "^/"}}),
        Kind::Tables(keys) => one_or_many(table(keys)),
        Kind::Either(kinds) => any_of(kinds.iter().map(of_kind).collect()),
        Kind::Form(form) if form.is_list => one_or_many(of_form(form)),
        Kind::Form(form) => of_form(form),
        Kind::Json => json!({}),
    }
}

/// The table, and what is short for it.
fn of_form(form: &Form) -> Value {
    let short = form.keys.iter().find(|key| key.path == form.short).map(|key| of_kind(&key.kind));
    let switch = form.is_switch.then(|| of_kind(&Kind::Flag));
    any_of(short.into_iter().chain(switch).chain([table(form.keys)]).collect())
}

fn any_of(mut schemas: Vec<Value>) -> Value {
    match schemas.len() {
        1 => schemas.remove(0),
        _ => json!({"anyOf": schemas}),
    }
}
