//! Which tools of a server are offered: what a tool says about itself may have changed since an operator approved it.

use serde_json::{Map, Value};
use switchboard_core::Json;

use crate::ask::seal::digest_of;

/// Decides which tools of an MCP server are offered.
pub trait Approval: Send + Sync + 'static {
    /// The server lists these tools.
    fn note(&self, tools: &[&ToolDefinition]);

    /// Why a tool is not offered, as the error for its callers; none if it is offered.
    fn refusal(&self, tool: &ToolDefinition) -> Option<String>;
}

/// What a tool says about itself: everything that a model or a host relies on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name.
    pub name: String,
    /// Its title, description, schemas and annotations, as far as it has them.
    pub members: Map<String, Value>,
    /// The SHA-256 of the name and the members, in a form that does not depend on their order.
    pub digest: String,
}

const MEMBERS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

impl ToolDefinition {
    /// What a tool with this name says in a list.
    pub(super) fn read(name: &str, listed: &Json) -> ToolDefinition {
        let mut members = Map::new();
        for (member, value) in MEMBERS.iter().zip(listed.pick(MEMBERS)) {
            if let Some(value) = value.and_then(|value| value.decode().ok()) {
                members.insert((*member).to_owned(), value);
            }
        }
        ToolDefinition::new(name, members)
    }

    /// A tool with this name that says this.
    #[must_use]
    pub fn new(name: impl Into<String>, members: Map<String, Value>) -> ToolDefinition {
        let (name, mut text) = (name.into(), String::new());
        canonical(&Value::Object(members.clone()), &mut text);
        let digest = digest_of(&[name.as_bytes(), text.as_bytes()]);
        ToolDefinition { name, members, digest }
    }
}

/// Writes a value with the members of objects in the order of their names.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in members {
                canonical(&Value::from(name.as_str()), out);
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_depends_on_what_it_says_and_not_on_how_it_is_written() {
        let digest = |text: &'static str| ToolDefinition::read("t", &Json::parse(text).unwrap()).digest;
        let first = digest(r#"{"name":"t","description":"Adds.","inputSchema":{"type":"object","a":[1,2]}}"#);
        let check = |text: &'static str, is_same: bool| assert_eq!(digest(text) == first, is_same, "{text}");
        check(
            r#"{"inputSchema": {"a": [1, 2], "type": "object"}, "description": "Adds\u002e", "_meta": {}}"#,
            true,
        );
        check(r#"{"description":"Adds!","inputSchema":{"type":"object","a":[1,2]}}"#, false);
        check(r#"{"description":"Adds.","inputSchema":{"type":"object","a":[2,1]}}"#, false);
        check(r#"{"description":"Adds.","inputSchema":{"type":"object","a":[1,2]},"annotations":{}}"#, false);
        check(r#"{"title":"Adds.","inputSchema":{"type":"object","a":[1,2]}}"#, false);
    }
}
