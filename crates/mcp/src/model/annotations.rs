//! Annotations: the intended audience and the importance of content.

use super::wire::{tokens, wire};

wire! {
    /// Hints about content or a resource: its audience, importance and age (MCP-RES-02).
    #[derive(Default)]
    pub struct Annotations {
        required {}
        optional {
            /// The intended audience. Empty if unspecified.
            audience: Vec<Role> = "audience",
            /// The importance, from 0 (optional) to 1 (required).
            priority: Option<f64> = "priority",
            /// The time of the last change, in ISO 8601.
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

    /// Sets the priority, clamped to the valid range.
    pub(super) fn set_priority(&mut self, priority: f64) {
        self.priority = Some(if priority.is_nan() { 0.0 } else { priority.clamp(0.0, 1.0) });
    }
}

tokens! {
    /// A role in a conversation.
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}
