//! What is known about a job.

use serde::{Deserialize, Serialize};
use switchboard_core::{ErrorObject, Json};

use super::Message;

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum JobState {
    /// It waits for a worker, for the first time or for another attempt.
    Queued,
    /// A worker runs it.
    Running,
    /// It ended with a result.
    Done,
    /// It ended with an error of its method.
    Failed,
    /// Its caller cancelled it.
    Cancelled,
    /// It was given up after too many attempts, and is among the dead letters.
    Dead,
}

impl JobState {
    /// Whether nothing changes any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Running)
    }
}

/// The record of a job, as it is stored. A record is replaced only by those who know what it says, so each end of a job is the only one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) state: JobState,
    pub(super) method: String,
    /// Whose job it is; empty if its caller is not known by name.
    pub(super) owner: String,
    /// The digest of its params.
    pub(super) params: String,
    /// How often it was begun.
    pub(super) attempts: u32,
    /// When it was submitted, in milliseconds since 1970.
    pub(super) submitted: u64,
    /// When this was written.
    pub(super) changed: u64,
    /// Tells attempts apart.
    pub(super) mark: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Json>,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Json>,
}

impl Record {
    /// A job that waits.
    pub(super) fn queued(message: &Message, now: u64) -> Record {
        Record {
            state: JobState::Queued,
            method: message.method.clone(),
            owner: message.owner().to_owned(),
            params: message.params_digest(),
            attempts: 0,
            submitted: message.submitted,
            changed: now,
            mark: fastrand::u64(..),
            result: None,
            error: None,
        }
    }

    /// The same job in another state.
    pub(super) fn in_state(&self, state: JobState, now: u64) -> Record {
        Record { state, changed: now, mark: fastrand::u64(..), ..self.clone() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        Json::encode_ref(self).map(|json| json.as_bytes().to_vec()).unwrap_or_default()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        Json::parse(bytes.to_vec()).ok()?.decode().ok()
    }

    /// The job as its owner sees it, with its result or not.
    pub(super) fn described(&self, job: &str, with_result: bool) -> Result<Json, ErrorObject> {
        let described = Described {
            job,
            state: self.state,
            method: &self.method,
            attempts: self.attempts,
            submitted: self.submitted,
            changed: self.changed,
            result: self.result.as_ref().filter(|_| with_result),
            error: self.error.as_ref(),
        };
        Json::encode_ref(&described).map_err(|error| ErrorObject::internal(&error))
    }
}

#[derive(Serialize)]
struct Described<'a> {
    job: &'a str,
    state: JobState,
    method: &'a str,
    attempts: u32,
    submitted: u64,
    changed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Json>,
}
