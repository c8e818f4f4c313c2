//! Tasks and their artifacts.

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::message::lines;
use super::wire::{nullable, some, text};
use super::{Message, Part, Timestamp};

/// A task (A2A-D-01).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Made by the agent.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// The conversation that it belongs to.
    #[serde(
        alias = "context_id",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub context_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it has produced.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The messages so far, oldest first.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// More about it, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// The state of a task (A2A-D-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub enum TaskState {
    /// Unknown.
    #[serde(rename = "TASK_STATE_UNSPECIFIED")]
    Unspecified,
    /// Accepted, and not begun.
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    /// The agent works on it.
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    /// Done.
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    /// Failed.
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    /// Cancelled.
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    /// The agent waits for a message.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    /// The agent does not do it.
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    /// The agent waits for credentials, which it gets on another way (A2A-X-02).
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
}

/// Something that a task has produced (A2A-D-05).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Artifact {
    /// Unique within its task.
    #[serde(alias = "artifact_id", deserialize_with = "text")]
    pub artifact_id: String,
    /// A name for people.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A description for people.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it consists of.
    #[serde(deserialize_with = "some")]
    pub parts: Vec<Part>,
    /// More about it, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The extensions that it uses.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl TaskState {
    /// Whether the task has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        use TaskState::{Canceled, Completed, Failed, Rejected};
        matches!(self, Completed | Failed | Canceled | Rejected)
    }

    /// Whether the agent waits for its client.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, TaskState::InputRequired | TaskState::AuthRequired)
    }
}

impl TaskStatus {
    /// A status without a message.
    #[must_use]
    pub fn new(state: TaskState) -> TaskStatus {
        TaskStatus { state, message: None, timestamp: None }
    }

    /// Adds what the agent says about it.
    #[must_use]
    pub fn with_message(self, message: impl Into<Message>) -> TaskStatus {
        TaskStatus { message: Some(message.into()), ..self }
    }
}

impl Task {
    /// Keeps at most so many messages, the latest ones (A2A-M-05).
    pub(crate) fn limit_history(&mut self, length: Option<usize>) {
        if let Some(length) = length {
            let over = self.history.len().saturating_sub(length);
            self.history.drain(..over);
        }
    }
}

impl Artifact {
    /// An artifact with this identifier and these parts.
    #[must_use]
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Artifact {
        Artifact {
            artifact_id: artifact_id.into(),
            name: String::new(),
            description: String::new(),
            parts,
            metadata: None,
            extensions: Vec::new(),
        }
    }

    /// A text.
    #[must_use]
    pub fn text(artifact_id: impl Into<String>, text: impl Into<String>) -> Artifact {
        Artifact::new(artifact_id, vec![Part::text(text)])
    }

    /// Sets the name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Artifact {
        Artifact { name: name.into(), ..self }
    }

    /// Its texts, a line each.
    #[must_use]
    pub fn as_text(&self) -> String {
        lines(&self.parts)
    }

    pub(crate) fn size(&self) -> usize {
        256 + self.parts.iter().map(Part::size).sum::<usize>()
    }
}
