//! Messages.

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::Part;
use super::wire::{nullable, some, text};
use crate::ids;

/// One message of a conversation (A2A-D-03).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Message {
    /// Made by its sender.
    #[serde(alias = "message_id", deserialize_with = "text")]
    pub message_id: String,
    /// The conversation that it belongs to.
    #[serde(alias = "context_id", default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The task that it belongs to.
    #[serde(alias = "task_id", default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// What it says.
    #[serde(deserialize_with = "some")]
    pub parts: Vec<Part>,
    /// More about it, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The extensions that it uses.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that it is about.
    #[serde(
        alias = "reference_task_ids",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<String>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Role {
    /// The client.
    #[serde(rename = "ROLE_USER")]
    User,
    /// The agent.
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

impl Message {
    /// A message with these parts and a new identifier.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Message {
        Message {
            message_id: ids::random(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// A message of a client.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Message {
        Message::new(Role::User, vec![Part::text(text)])
    }

    /// A message of an agent.
    #[must_use]
    pub fn agent(text: impl Into<String>) -> Message {
        Message::new(Role::Agent, vec![Part::text(text)])
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Message {
        self.parts.push(part);
        self
    }

    /// Makes it part of a conversation.
    #[must_use]
    pub fn in_context(self, context_id: impl Into<String>) -> Message {
        Message { context_id: Some(context_id.into()), ..self }
    }

    /// Makes it part of a task.
    #[must_use]
    pub fn in_task(self, task_id: impl Into<String>) -> Message {
        Message { task_id: Some(task_id.into()), ..self }
    }

    /// Its texts, a line each.
    #[must_use]
    pub fn text(&self) -> String {
        lines(&self.parts)
    }

    pub(crate) fn size(&self) -> usize {
        256 + self.parts.iter().map(Part::size).sum::<usize>()
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
    }
}

/// The texts of parts, a line each.
pub(super) fn lines(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::agent(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::agent(text)
    }
}
