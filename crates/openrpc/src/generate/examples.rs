//! Example calls with their results (OR-18).

use serde_json::Value;
use switchboard_core::{ExampleDescription, MethodDescription, ParamDescription};

use super::params::Params;
use crate::document::{ContentDescriptor, Example, ExamplePairing, Referable};

/// The examples of a method, with values in the order of the document's parameters.
pub(super) fn examples(description: &MethodDescription, params: &Params) -> Vec<ExamplePairing> {
    let declared = description.params.as_deref().unwrap_or_default();
    description.examples.iter().map(|example| pairing(example, declared, params)).collect()
}

fn pairing(example: &ExampleDescription, declared: &[ParamDescription], params: &Params) -> ExamplePairing {
    let mut values: Vec<(String, Option<Value>)> = params
        .descriptors
        .iter()
        .map(|descriptor| (descriptor.name.clone(), value(example, declared, descriptor)))
        .collect();
    // What is left out at the end is left out; what is left out before is what it is then.
    while values.last().is_some_and(|(_, value)| value.is_none()) {
        values.pop();
    }
    let values = values.into_iter().map(|(name, value)| {
        let default = || declared.iter().find(|param| param.name == name)?.default.clone();
        let value = value.or_else(default).unwrap_or_default();
        Referable::from(Example::new(name, value))
    });
    ExamplePairing {
        name: example.name.clone(),
        params: values.collect(),
        result: example.result.clone().map(|result| Example::new("result", result).into()),
        ..ExamplePairing::default()
    }
}

/// What the example gives for a parameter.
fn value(
    example: &ExampleDescription,
    declared: &[ParamDescription],
    of: &ContentDescriptor,
) -> Option<Value> {
    let position = declared.iter().position(|param| param.name == of.name)?;
    match &example.params {
        Value::Object(members) => members.get(&of.name).cloned(),
        Value::Array(values) if declared[position].is_variadic => {
            values.get(position..).map(|rest| Value::from(rest.to_vec()))
        }
        Value::Array(values) => values.get(position).cloned(),
        _ => None,
    }
}
