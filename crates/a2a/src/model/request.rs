//! The params of the methods.

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::wire::{is_false, nullable, text};
use super::{Message, PushConfig, Task, TaskState, Timestamp};

/// The params of `SendMessage` and `SendStreamingMessage` (A2A-M-01).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SendMessage {
    /// The message.
    pub message: Message,
    /// How to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SendConfiguration>,
    /// More about the request, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Which of several agents at one URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SendConfiguration {
    /// The media types that the client takes.
    #[serde(
        alias = "accepted_output_modes",
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    /// Where to send notifications.
    #[serde(alias = "task_push_notification_config", skip_serializing_if = "Option::is_none")]
    pub task_push_notification_config: Option<PushConfig>,
    /// How many messages of the history to return at most.
    #[serde(alias = "history_length", skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Whether to answer with the task as soon as there is one.
    #[serde(alias = "return_immediately", deserialize_with = "nullable", skip_serializing_if = "is_false")]
    pub return_immediately: bool,
}

/// The params of `GetTask`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTask {
    /// The task.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// How many messages of the history to return at most.
    #[serde(alias = "history_length", default, skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Which of several agents at one URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// The params of `SubscribeToTask`.
pub type SubscribeToTask = GetTask;

/// The params of `CancelTask`.
pub type CancelTask = GetTask;

/// The params of `ListTasks` (A2A-M-04).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ListTasks {
    /// Only those of this conversation.
    #[serde(alias = "context_id", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Only those in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// How many at once, from 1 to 100: 50 by default.
    #[serde(alias = "page_size", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// Where to go on.
    #[serde(alias = "page_token", skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// How many messages of each history to return at most: none by default.
    #[serde(alias = "history_length", skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Only those whose status changed at this time or later.
    #[serde(alias = "status_timestamp_after", skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether to return artifacts too.
    #[serde(alias = "include_artifacts", deserialize_with = "nullable", skip_serializing_if = "is_false")]
    pub include_artifacts: bool,
    /// Which of several agents at one URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// The result of `ListTasks`. All members are always there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TaskPage {
    /// The tasks, the one whose status changed last first.
    #[serde(deserialize_with = "nullable")]
    pub tasks: Vec<Task>,
    /// Where to go on; empty at the end.
    #[serde(alias = "next_page_token", deserialize_with = "nullable")]
    pub next_page_token: String,
    /// How many tasks a page has at most.
    #[serde(alias = "page_size", deserialize_with = "nullable")]
    pub page_size: u32,
    /// How many tasks there are on all pages.
    #[serde(alias = "total_size", deserialize_with = "nullable")]
    pub total_size: u32,
}

impl SendMessage {
    /// A request to answer this message.
    #[must_use]
    pub fn new(message: Message) -> SendMessage {
        SendMessage { message, configuration: None, metadata: None, tenant: None }
    }

    /// Asks for an answer as soon as there is a task.
    #[must_use]
    pub fn immediately(mut self) -> SendMessage {
        self.configuration.get_or_insert_default().return_immediately = true;
        self
    }

    /// Asks for notifications about the task.
    #[must_use]
    pub fn with_push(mut self, config: PushConfig) -> SendMessage {
        self.configuration.get_or_insert_default().task_push_notification_config = Some(config);
        self
    }
}

impl GetTask {
    /// A request about this task.
    #[must_use]
    pub fn new(id: impl Into<String>) -> GetTask {
        GetTask { id: id.into(), history_length: None, tenant: None }
    }
}
