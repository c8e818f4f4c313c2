//! The parameters of a method (OR-11, OR-41, OR-42).

use serde_json::{Map, Value};
use switchboard_core::ParamDescription;

use crate::document::{ContentDescriptor, ParamStructure, Schema, VARIADIC};

/// The parameters as a document has them, and how they may be given.
pub(super) struct Params {
    pub(super) descriptors: Vec<ContentDescriptor>,
    pub(super) structure: ParamStructure,
}

/// Parameters that must be given stand first. Where they are declared in another order, or where one takes all positions that are
/// left, the positions of the document would not be those of the method: then only names are described.
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
    let mut others = Map::new();
    if param.is_variadic {
        others.insert(VARIADIC.to_owned(), Value::Bool(true));
    }
    ContentDescriptor {
        description: (!param.description.is_empty()).then(|| param.description.clone()),
        required: param.is_required,
        others,
        ..ContentDescriptor::new(param.name.as_str(), Schema::new(param.schema_by_name()).unwrap_or_default())
    }
}
