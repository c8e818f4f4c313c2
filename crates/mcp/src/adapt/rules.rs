//! Which methods of a remote server are offered, and how they look.

use std::collections::HashMap;

use serde_json::{Value, json};
use switchboard_core::MethodDescription;
use switchboard_layers::access::Pattern;

/// The choices of the user.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) keep: Vec<Pattern>,
    pub(super) without: Vec<Pattern>,
    pub(super) names: HashMap<String, String>,
    pub(super) texts: HashMap<String, String>,
    pub(super) resources: HashMap<String, String>,
    pub(super) by_position: bool,
}

impl Rules {
    /// Whether a method is offered.
    pub(super) fn keeps(&self, method: &str) -> bool {
        let has = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(method));
        (self.keep.is_empty() || has(&self.keep)) && !has(&self.without)
    }

    /// The method as it is offered.
    pub(super) fn apply(&self, method: &mut MethodDescription) {
        if let Some(text) = self.texts.get(&method.name) {
            (method.summary, method.description) = (text.clone(), String::new());
        }
        for (option, values) in [("name", &self.names), ("resource", &self.resources)] {
            if let Some(value) = values.get(&method.name) {
                let options = method.others.entry("x-mcp").or_insert_with(|| json!({}));
                if !options.is_object() {
                    *options = json!({});
                }
                options[option] = Value::from(value.as_str());
            }
        }
    }
}
