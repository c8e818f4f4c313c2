//! The published schemas of every revision.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use switchboard_mcp::model::Revision;

/// The schema of a revision as it is published.
pub(crate) fn published(revision: Revision) -> Value {
    let text = match revision {
        Revision::V2024_11_05 => include_str!("../data/2024-11-05.schema.json"),
        Revision::V2025_03_26 => include_str!("../data/2025-03-26.schema.json"),
        Revision::V2025_06_18 => include_str!("../data/2025-06-18.schema.json"),
        Revision::V2025_11_25 => include_str!("../data/2025-11-25.schema.json"),
        Revision::V2026_07_28 => include_str!("../data/2026-07-28.schema.json"),
        _ => unreachable!("a revision without a schema"),
    };
    serde_json::from_str(text).unwrap()
}

/// How to take a schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// As it is published: members that it does not list may be there.
    Published,
    /// Closed: a member that it does not list is an error, so that one of another revision is found.
    Closed,
}

/// The name of the member that holds the definitions.
fn definitions(revision: Revision) -> &'static str {
    if revision < Revision::V2025_11_25 { "definitions" } else { "$defs" }
}

/// The definition of a type, if the revision has it.
pub(crate) fn definition(revision: Revision, name: &str) -> Option<Value> {
    static ALL: LazyLock<HashMap<Revision, Value>> =
        LazyLock::new(|| Revision::ALL.into_iter().map(|revision| (revision, published(revision))).collect());
    ALL[&revision][definitions(revision)].get(name).cloned()
}

/// Checks a value against the definition of a type.
#[track_caller]
pub(crate) fn check(revision: Revision, name: &str, value: &Value, reading: Reading) {
    type Key = (Revision, String, Reading);
    static VALIDATORS: LazyLock<Mutex<HashMap<Key, &'static Validator>>> = LazyLock::new(Mutex::default);
    let validator: &'static Validator = VALIDATORS
        .lock()
        .unwrap()
        .entry((revision, name.to_owned(), reading))
        .or_insert_with(|| Box::leak(Box::new(validator(revision, name, reading))));
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{revision} {name}\n{value:#}\n{}", errors.join("\n"));
}

fn validator(revision: Revision, name: &str, reading: Reading) -> Validator {
    let mut schema = published(revision);
    let all = schema[definitions(revision)].as_object_mut().unwrap();
    assert!(all.contains_key(name), "{revision} has no {name}");
    if reading == Reading::Closed {
        for (name, schema) in all.iter_mut() {
            // Peers of older revisions use extensions too.
            if name.ends_with("Capabilities") {
                let members = schema["properties"].as_object_mut().unwrap();
                members.entry("extensions").or_insert(json!({"type": "object"}));
            }
            // Metadata may have any key.
            if !name.ends_with("MetaObject") {
                close(schema);
            }
        }
    }
    schema["$ref"] = json!(format!("#/{}/{name}", definitions(revision)));
    jsonschema::validator_for(&schema).unwrap()
}

/// Allows only the members that a schema lists, here and in all that it holds.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_open = members.contains_key("additionalProperties");
            if members.contains_key("properties") && !is_open && members.get("type") == Some(&json!("object"))
            {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            close_members(members);
        }
        Value::Array(elements) => elements.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_members(members: &mut Map<String, Value>) {
    for (name, schema) in members.iter_mut() {
        // The parts of `allOf` do not know each other. The schemas of tools may have any keyword.
        if !matches!(name.as_str(), "allOf" | "inputSchema" | "outputSchema") {
            close(schema);
        }
    }
}
