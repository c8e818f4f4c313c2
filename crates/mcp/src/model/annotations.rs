//! Hints on who content is for, and how much it matters.

use super::wire::{tokens, wire};

wire! {
    /// Hints on who a piece of content or a resource is for, and how much it matters (MCP-RES-02).
    #[derive(Default)]
    pub struct Annotations {
        required {}
        optional {
            /// Who it is for. Nobody in particular if empty.
            audience: Vec<Role> = "audience",
            /// How much it matters, from 0 (not at all) to 1 (it must be there).
            priority: Option<f64> = "priority",
            /// When it was last changed, in ISO 8601.
            last_modified: Option<String> = "lastModified" since V2025_06_18,
        }
    }
}

impl Annotations {
    /// Adds a role to the audience.
    pub(super) fn add_audience(&mut self, role: Role) {
        if !self.audience.contains(&role) {
            self.audience.push(role);
        }
    }

    /// Sets the priority to the nearest one that is valid.
    pub(super) fn set_priority(&mut self, priority: f64) {
        self.priority = Some(if priority.is_nan() { 0.0 } else { priority.clamp(0.0, 1.0) });
    }
}

tokens! {
    /// A side of a conversation.
    pub enum Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}
