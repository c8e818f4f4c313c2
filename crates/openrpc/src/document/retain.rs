//! A document with fewer methods, and without the schemas that only the others needed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Document, MethodEntry, Referable, Schema};

const SCHEMAS: &str = "#/components/schemas/";

impl Document {
    /// Keeps the methods for which this returns true, and the schemas that they need. Methods that are only references are removed too: they are
    /// not known here.
    pub fn retain_methods(&mut self, mut keeps: impl FnMut(&MethodEntry) -> bool) {
        self.methods.retain(|method| method.here().is_some_and(&mut keeps));
        if let Some(components) = &mut self.components {
            let needed = needed(&self.methods, &components.schemas);
            components.schemas.retain(|name, _| needed.contains(name));
        }
    }
}

/// The names of the schemas that methods lead to, one through another.
fn needed(methods: &[Referable<MethodEntry>], schemas: &BTreeMap<String, Schema>) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let mut found = Vec::new();
    // Their parts are JSON, so this cannot fail.
    collect(&serde_json::to_value(methods).unwrap_or_default(), &mut found);
    while let Some(name) = found.pop() {
        if let (Some(schema), false) = (schemas.get(&name), needed.contains(&name)) {
            collect(schema.as_value(), &mut found);
            needed.insert(name);
        }
    }
    needed
}

/// Adds the names of the schemas that this refers to.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(rest) = reference.and_then(|reference| reference.strip_prefix(SCHEMAS)) {
                let name = rest.split('/').next().unwrap_or_default();
                found.push(super::resolve::decoded(name).replace("~1", "/").replace("~0", "~"));
            }
            members.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}
