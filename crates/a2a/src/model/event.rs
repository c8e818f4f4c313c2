//! What a stream tells about a task.

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::wire::{is_false, nullable, text};
use super::{Artifact, Message, Task, TaskState, TaskStatus};

/// The answer to a message, and an event of a stream: exactly one of these (A2A-S-02).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StreamEvent {
    /// The task as it is.
    Task(Task),
    /// The answer of an agent that needs no task.
    Message(Message),
    /// The status has changed.
    StatusUpdate(StatusUpdate),
    /// There is an artifact, or more of one.
    ArtifactUpdate(ArtifactUpdate),
}

/// The status of a task has changed (A2A-D-06).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StatusUpdate {
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "text")]
    pub task_id: String,
    /// Its conversation.
    #[serde(alias = "context_id", default, deserialize_with = "nullable")]
    pub context_id: String,
    /// The new status.
    pub status: TaskStatus,
    /// More about it, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// There is an artifact, or more of one (A2A-D-06).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ArtifactUpdate {
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "text")]
    pub task_id: String,
    /// Its conversation.
    #[serde(alias = "context_id", default, deserialize_with = "nullable")]
    pub context_id: String,
    /// The artifact, or the parts to add to it.
    pub artifact: Artifact,
    /// Whether the parts are added to those that are there.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_false")]
    pub append: bool,
    /// Whether the artifact is complete.
    #[serde(alias = "last_chunk", default, deserialize_with = "nullable", skip_serializing_if = "is_false")]
    pub last_chunk: bool,
    /// More about it, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl StreamEvent {
    /// The state of the task, if it says one.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        match self {
            StreamEvent::Task(task) => Some(task.status.state),
            StreamEvent::StatusUpdate(update) => Some(update.status.state),
            _ => None,
        }
    }

    /// The task that it is about.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match self {
            StreamEvent::Task(task) => Some(&task.id),
            StreamEvent::Message(message) => message.task_id.as_deref(),
            StreamEvent::StatusUpdate(update) => Some(&update.task_id),
            StreamEvent::ArtifactUpdate(update) => Some(&update.task_id),
        }
    }
}

impl ArtifactUpdate {
    /// Applies it to what a task has produced so far.
    pub(crate) fn apply(self, artifacts: &mut Vec<Artifact>) {
        let known = artifacts.iter_mut().find(|known| known.artifact_id == self.artifact.artifact_id);
        match known {
            Some(known) if self.append => known.parts.extend(self.artifact.parts),
            Some(known) => *known = self.artifact,
            None => artifacts.push(self.artifact),
        }
    }
}
