//! The meaning of single keywords of a schema.

use serde_json::{Map, Value};

/// Whether what a schema refers to becomes a part of it.
pub(super) fn is_put_together(schema: &Map<String, Value>) -> bool {
    let has_members = schema.contains_key("properties");
    let is_union = schema.contains_key("oneOf") || schema.contains_key("anyOf");
    match schema.get("allOf").and_then(Value::as_array) {
        Some(parts) => parts.len() > 1 || has_members,
        None => is_union && has_members,
    }
}

/// The values of `const` or `enum`, which is not empty.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) if !values.is_empty() => Some(values.iter().collect()),
        _ => None,
    }
}

/// The values of branches that are nothing but values, with what is said about those that stand alone.
pub(super) fn listed(branches: &[Value]) -> Option<Vec<(&Value, &str)>> {
    let mut all = Vec::new();
    for branch in branches {
        let docs = branch.get("description").and_then(Value::as_str).unwrap_or_default();
        let values = values(branch.as_object()?)?;
        let docs = if values.len() == 1 { docs } else { "" };
        all.extend(values.into_iter().map(|value| (value, docs)));
    }
    (!all.is_empty()).then_some(all)
}

/// What to call a branch of a union that has no name: by its first member that is a constant, by its only member, or by its number.
pub(super) fn variant(branch: &Value, at: usize) -> String {
    let members = branch.get("properties").and_then(Value::as_object);
    let tag = members.and_then(|members| {
        members.values().find_map(|member| values(member.as_object()?)?.first()?.as_str())
    });
    let only = members.filter(|members| members.len() == 1).and_then(|members| members.keys().next());
    tag.or(only.map(String::as_str)).map_or_else(|| format!("{}", at + 1), str::to_owned)
}

pub(super) fn is_unsigned(schema: &Map<String, Value>) -> bool {
    schema.get("minimum").and_then(Value::as_f64).is_some_and(|least| least >= 0.0)
        || schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint"))
}

pub(super) fn text(schema: &Value, member: &str) -> String {
    schema.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}
