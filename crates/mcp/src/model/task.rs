//! Tasks: calls that run in the background.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serializer};
use switchboard_core::Json;
use switchboard_layers::lines::rfc3339;

use super::wire::tokens;
use super::{Revision, Wire};

tokens! {
    /// The status of a task (MCP-TK-03).
    pub enum TaskStatus {
        /// The task is running.
        Working = "working",
        /// The task waits for input from the client.
        InputRequired = "input_required",
        /// The task has a result.
        Completed = "completed",
        /// The task failed.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether the status is terminal.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
    }
}

/// A task, in the shape of 2025-11-25 or of the tasks extension of 2026-07-28. The extension renames the durations and adds
/// the outcome (MCP-TK-02, MCP-TX-01).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id of the task, which must be hard to guess.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// A description of the status, for users.
    pub status_message: Option<String>,
    /// The time of creation, in ISO 8601.
    pub created_at: String,
    /// The time of the last change, in ISO 8601.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds. None if forever.
    #[serde(alias = "ttlMs")]
    pub ttl: Option<u64>,
    /// The suggested polling interval, in milliseconds.
    #[serde(alias = "pollIntervalMs")]
    pub poll_interval: Option<u64>,
    /// The requests for input, by key. Tasks extension only.
    #[serde(default, deserialize_with = "super::wire::null_is_absent")]
    pub input_requests: BTreeMap<String, Json>,
    /// The result of a completed task. Tasks extension only.
    pub result: Option<Json>,
    /// The error of a failed task. Tasks extension only.
    pub error: Option<Json>,
}

impl Task {
    /// A new task with the status [`Working`](TaskStatus::Working).
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Task {
        let now = rfc3339(SystemTime::now());
        Task {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: now.clone(),
            last_updated_at: now,
            ttl: None,
            poll_interval: None,
            input_requests: BTreeMap::new(),
            result: None,
            error: None,
        }
    }

    /// Sets the status and the time of the last change.
    pub fn set_status(&mut self, status: TaskStatus) {
        self.status = status;
        self.last_updated_at = rfc3339(SystemTime::now());
    }

    /// Writes the members into an open object, for results that add other members to a task.
    ///
    /// # Errors
    ///
    /// Errors of the serializer.
    pub fn write_members<M: serde::ser::SerializeMap>(
        &self,
        revision: Revision,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let is_extension = revision.is_stateless();
        let [ttl, poll_interval] =
            if is_extension { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
        map.serialize_entry("taskId", &self.task_id)?;
        map.serialize_entry("status", self.status.as_str())?;
        if let Some(message) = &self.status_message {
            map.serialize_entry("statusMessage", message)?;
        }
        map.serialize_entry("createdAt", &self.created_at)?;
        map.serialize_entry("lastUpdatedAt", &self.last_updated_at)?;
        map.serialize_entry(ttl, &self.ttl)?;
        if let Some(interval) = self.poll_interval {
            map.serialize_entry(poll_interval, &interval)?;
        }
        if !is_extension {
            return Ok(());
        }
        if !self.input_requests.is_empty() {
            map.serialize_entry("inputRequests", &self.input_requests)?;
        }
        if let Some(result) = &self.result {
            map.serialize_entry("result", result)?;
        }
        if let Some(error) = &self.error {
            map.serialize_entry("error", error)?;
        }
        Ok(())
    }
}

impl Wire for Task {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_members(revision, &mut map)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-TK-02, MCP-TX-01
    #[test]
    fn a_task_has_the_shape_of_its_revision_and_is_read_from_either() {
        let mut task = Task::new("t1");
        (task.created_at, task.last_updated_at) = ("a".to_owned(), "b".to_owned());
        (task.poll_interval, task.result) = (Some(500), Some(Json::TRUE));
        let head = r#"{"taskId":"t1","status":"working","createdAt":"a","lastUpdatedAt":"b","#;
        let check = |revision, rest: &str| {
            let written = task.to_json(revision);
            assert_eq!(written.as_str(), format!("{head}{rest}"));
            assert_eq!(written.decode::<Task>().unwrap().poll_interval, Some(500));
        };
        check(Revision::V2025_11_25, r#""ttl":null,"pollInterval":500}"#);
        check(Revision::V2026_07_28, r#""ttlMs":null,"pollIntervalMs":500,"result":true}"#);
    }
}
