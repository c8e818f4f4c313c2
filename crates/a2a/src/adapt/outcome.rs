//! What an agent has answered, as the result of a method.

use serde_json::{Map, Value, json};
use switchboard_core::{ErrorObject, Json, Reply};

use crate::model::error::{INVALID_AGENT_RESPONSE, SERVER_ERROR, error};
use crate::model::{Artifact, Content, Message, Part, StreamEvent, Task, TaskState, TaskStatus};

/// An answer that is made up of events.
#[derive(Default)]
pub(super) struct Answer {
    task_id: Option<String>,
    context_id: Option<String>,
    status: Option<TaskStatus>,
    message: Option<Message>,
    artifacts: Vec<Artifact>,
}

impl Answer {
    pub(super) fn note(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Task(Task { id, context_id, status, artifacts, .. }) => {
                *self = Answer {
                    task_id: Some(id),
                    context_id: Some(context_id),
                    status: Some(status),
                    artifacts,
                    message: None,
                };
            }
            StreamEvent::Message(message) => {
                self.context_id.clone_from(&message.context_id);
                self.message = Some(message);
            }
            StreamEvent::StatusUpdate(update) => self.status = Some(update.status),
            StreamEvent::ArtifactUpdate(update) => update.apply(&mut self.artifacts),
        }
    }

    /// The task, while it has not ended.
    pub(super) fn open_task(&self) -> Option<&str> {
        let is_open = self.status.as_ref().is_some_and(|status| !status.state.is_terminal());
        self.task_id.as_deref().filter(|_| is_open)
    }

    /// The reply to the call: an object with what the agent has said and made. A task that has failed is an error.
    pub(super) fn reply(self) -> Reply {
        let said = self.message.as_ref().or_else(|| self.status.as_ref()?.message.as_ref());
        let text = said.map(Message::text).unwrap_or_default();
        let state = self.status.as_ref().map(|status| status.state);
        match state {
            Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => {
                let text =
                    if text.is_empty() { "the agent did not finish the task".to_owned() } else { text };
                let data = json!({"state": state, "taskId": self.task_id, "contextId": self.context_id});
                return ErrorObject::new(SERVER_ERROR, text).with_data(&data).into();
            }
            None if self.message.is_none() => {
                return error(INVALID_AGENT_RESPONSE, "the agent answered neither a message nor a task", &[])
                    .into();
            }
            _ => {}
        }
        let parts = self.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let parts: Vec<&Part> = said.iter().flat_map(|message| &message.parts).chain(parts).collect();
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.as_text()).collect();
        let mut result = Map::new();
        result.insert("text".to_owned(), texts.join("\n").into());
        let data: Vec<&Json> = parts.iter().filter_map(|part| data(part)).collect();
        if !data.is_empty() {
            result.insert("data".to_owned(), json!(data));
        }
        let files: Vec<&&Part> = parts.iter().filter(|part| is_file(part)).collect();
        if !files.is_empty() {
            result.insert("files".to_owned(), json!(files));
        }
        result.insert("state".to_owned(), json!(state.unwrap_or(TaskState::Completed)));
        let ids = [("taskId", self.task_id), ("contextId", self.context_id)];
        result.extend(ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), Value::from(id?)))));
        Reply::of(&result)
    }
}

fn data(part: &Part) -> Option<&Json> {
    match &part.content {
        Content::Data(data) => Some(data),
        _ => None,
    }
}

fn is_file(part: &Part) -> bool {
    matches!(part.content, Content::Raw(_) | Content::Url(_))
}
