//! The parameters of a method (OR-11, OR-41, OR-42).

use serde_json::{Map, Value, json};
use switchboard_core::ParamDescription;

use crate::document::{ContentDescriptor, ParamStructure, Schema, VARIADIC};

/// The parameters as a document has them, and how they may be given.
pub(super) struct Params {
    pub(super) descriptors: Vec<ContentDescriptor>,
    pub(super) structure: ParamStructure,
}

/// Parameters that must be given stand first. Where they are declared in another order, or where one takes all positions that are
/// left, the positions of the document would not be those of the method: then only names are told.
pub(super) fn params(described: Option<&[ParamDescription]>) -> Params {
    let Some(described) = described else {
        return Params { descriptors: Vec::new(), structure: ParamStructure::Either };
    };
    let (required, optional): (Vec<_>, Vec<_>) = described.iter().partition(|param| param.is_required);
    let is_in_order = described.iter().skip(required.len()).all(|param| !param.is_required);
    let is_variadic = described.iter().any(|param| param.is_variadic);
    let structure = if is_in_order && !is_variadic { ParamStructure::Either } else { ParamStructure::ByName };
    Params { descriptors: required.into_iter().chain(optional).map(descriptor).collect(), structure }
}

fn descriptor(param: &ParamDescription) -> ContentDescriptor {
    let mut schema = param.schema.clone();
    let mut others = Map::new();
    if param.is_variadic {
        schema = json!({"type": "array", "items": schema});
        others.insert(VARIADIC.to_owned(), Value::Bool(true));
    }
    if let Some(default) = &param.default {
        schema = with_default(schema, default.clone());
    }
    ContentDescriptor {
        description: (!param.description.is_empty()).then(|| param.description.clone()),
        required: param.is_required,
        others,
        ..ContentDescriptor::new(param.name.as_str(), Schema::new(schema).unwrap_or_default())
    }
}

/// The schema with what is taken when nothing is given. What stands beside a reference does not count in draft 7, so a reference is
/// wrapped.
fn with_default(schema: Value, default: Value) -> Value {
    let mut members = match schema {
        Value::Object(members) if !members.contains_key("$ref") => members,
        Value::Object(members) => Map::from_iter([("allOf".to_owned(), json!([members]))]),
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    members.insert("default".to_owned(), default);
    Value::Object(members)
}
