//! The official schemas of OpenRPC documents.

use jsonschema::{Draft, Registry};
use serde_json::{Value, json};

pub(crate) const V1_3: &str = include_str!("../schemas/openrpc-1.3.schema.json");
pub(crate) const V1_4: &str = include_str!("../schemas/openrpc-1.4.schema.json");

/// Whether a document is valid by the official schema of this version.
pub(crate) fn check(document: &Value, schema: &str) {
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    schema.as_object_mut().unwrap().remove("$schema");
    // What the schema says about schemas: draft 7.
    let meta = json!({
        "allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}],
        "definitions": {"JSONSchemaObject": {"properties": {"$ref": {"type": "string"}}}},
    });
    let registry = Registry::new()
        .draft(Draft::Draft7)
        .add("https://meta.json-schema.tools", meta.clone())
        .unwrap()
        .add("https://meta.json-schema.tools/", meta)
        .unwrap()
        .prepare()
        .unwrap();
    let validator = jsonschema::options()
        .offline()
        .with_draft(Draft::Draft7)
        .with_registry(&registry)
        .build(&schema)
        .unwrap();
    let errors: Vec<_> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
