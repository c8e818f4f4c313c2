//! What tools tell models about methods of a JSON-RPC server.

use serde_json::Value;
use switchboard_core::{Description, MethodDescription, Name};

/// Prepares the methods of a server for models.
pub(super) fn tell(description: &mut Description) {
    let ends = |method: &MethodDescription| Some(method.subscription.as_ref()?.unsubscribe.clone());
    let ends: Vec<Name> = description.methods.iter().filter_map(ends).collect();
    // A subscription ends with the call of its tool.
    description.methods.retain(|method| ends.iter().all(|end| end.as_str() != method.name));
    description.methods.iter_mut().for_each(document_outcomes);
}

/// A server that offers a method as a tool itself says what the tool is called.
pub(super) fn name(method: &mut MethodDescription) {
    if let Some(Value::Object(options)) = method.others.get_mut("x-mcp")
        && let Some(Value::String(name)) = options.get("tool").cloned()
    {
        options.entry("name").or_insert(Value::String(name));
    }
}

/// Tells models what tools have no other place for: the errors to expect, and examples.
fn document_outcomes(method: &mut MethodDescription) {
    let mut parts: Vec<String> = Vec::new();
    if !method.description.is_empty() {
        parts.push(std::mem::take(&mut method.description));
    }
    if !method.errors.is_empty() {
        let errors = method.errors.iter().map(|error| format!("{} ({})", error.message, error.code));
        parts.push(format!("Errors: {}.", errors.collect::<Vec<_>>().join("; ")));
    }
    for example in method.examples.iter().take(2) {
        let call = format!("Example: {}", example.params);
        parts.push(match &example.result {
            Some(result) => format!("{call} returns {result}"),
            None => call,
        });
    }
    method.description = parts.join("\n\n");
}
