//! Tasks in the store: a record under the identifier of each, and a list of all identifiers by number.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use switchboard_core::ErrorObject;
use switchboard_layers::Clock;
use switchboard_layers::store::{Store, StoreError};

use super::push::Place;
use super::{AgentOptions, RequestDetails};
use crate::model::{Task, Timestamp};

/// A task as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    /// Who it belongs to.
    pub(super) owner: String,
    /// Its number among all tasks.
    pub(super) number: u64,
    /// Until when a process works on it, in milliseconds since 1970.
    pub(super) until: u64,
    /// What was said about the request that is being worked on, or was last.
    #[serde(default, skip_serializing_if = "RequestDetails::is_empty")]
    pub(super) request: RequestDetails,
    pub(super) task: Task,
}

/// A record as it was read.
pub(super) struct Stored {
    pub(super) record: Record,
    pub(super) bytes: Bytes,
}

/// The tasks of an agent in its store. Cheap to clone.
#[derive(Clone)]
pub(super) struct Records {
    store: Arc<dyn Store>,
    clock: Clock,
    keep: Duration,
    lease: Duration,
}

const COUNT: &[u8] = b"a2a/count";

/// How long the count of tasks is kept: longer than any task.
const ALWAYS: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Records {
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock, options: &AgentOptions) -> Records {
        Records { store, clock, keep: options.keep, lease: options.lease }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.clock.millis())
    }

    /// Until when a process that works now is known to work.
    pub(super) fn lease(&self) -> u64 {
        self.now().0.saturating_add(u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX))
    }

    /// The number of tasks that there ever were.
    pub(super) async fn count(&self) -> Result<u64, StoreError> {
        self.add(0).await
    }

    async fn add(&self, amount: u64) -> Result<u64, StoreError> {
        match self.store.add(COUNT, amount, ALWAYS).await {
            Err(StoreError::TooLongTime { limit, .. }) => self.store.add(COUNT, amount, limit).await,
            result => result,
        }
    }

    /// Adds a task to the list of all. Returns its number.
    pub(super) async fn enlist(&self, id: &str) -> Result<u64, StoreError> {
        loop {
            let number = self.add(1).await?;
            // A number is taken only if the store has forgotten the count.
            if self.store.insert(&entry(number), id.as_bytes(), self.keep).await? {
                return Ok(number);
            }
        }
    }

    /// The identifier of the task with this number.
    pub(super) async fn at(&self, number: u64) -> Result<Option<String>, StoreError> {
        let id = self.store.read(&entry(number)).await?;
        Ok(id.and_then(|id| String::from_utf8(id.to_vec()).ok()))
    }

    pub(super) async fn read(&self, id: &str) -> Result<Option<Stored>, StoreError> {
        // A longer one is none of ours.
        if id.len() > 64 {
            return Ok(None);
        }
        let Some(bytes) = self.store.read(&key(id)).await? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes);
        let record = record.map_err(|error| StoreError::Unavailable(format!("task {id}: {error}")))?;
        Ok(Some(Stored { record, bytes }))
    }

    /// Stores a new record, or one instead of the bytes that are known to be there. None if there are others.
    pub(super) async fn write(
        &self,
        record: &Record,
        known: Option<&[u8]>,
    ) -> Result<Option<Bytes>, StoreError> {
        let text = serde_json::to_vec(record);
        let text = Bytes::from(text.map_err(|error| StoreError::Unavailable(error.to_string()))?);
        let key = key(&record.task.id);
        let is_written = match known {
            None => self.store.insert(&key, &text, self.keep).await?,
            Some(known) => self.store.replace(&key, known, &text, self.keep).await?,
        };
        Ok(is_written.then_some(text))
    }

    /// The places for notifications about a task, and what the store has of them.
    pub(super) async fn places(&self, id: &str) -> Result<(Vec<Place>, Option<Bytes>), StoreError> {
        let Some(bytes) = self.store.read(&places(id)).await? else { return Ok((Vec::new(), None)) };
        let list = serde_json::from_slice(&bytes);
        let list = list.map_err(|error| StoreError::Unavailable(format!("places of {id}: {error}")))?;
        Ok((list, Some(bytes)))
    }

    /// Stores the places for notifications about a task instead of those that are known to be there. Returns whether it did.
    pub(super) async fn write_places(
        &self,
        id: &str,
        list: &[Place],
        known: Option<&[u8]>,
    ) -> Result<bool, StoreError> {
        let text = serde_json::to_vec(list).map_err(|error| StoreError::Unavailable(error.to_string()))?;
        match known {
            None if list.is_empty() => Ok(true),
            None => self.store.insert(&places(id), &text, self.keep).await,
            Some(known) => self.store.replace(&places(id), known, &text, self.keep).await,
        }
    }

    /// Keeps the places for notifications about a task, if they are these, as long as a task that changes now.
    pub(super) async fn renew_places(&self, id: &str, known: &[u8]) -> Result<(), StoreError> {
        self.store.replace(&places(id), known, known, self.keep).await.map(drop)
    }

    /// Removes a task, its number and its places.
    pub(super) async fn remove(&self, id: &str, number: u64) -> Result<(), StoreError> {
        self.store.remove(&key(id)).await?;
        self.store.remove(&places(id)).await?;
        self.store.remove(&entry(number)).await
    }
}

fn key(id: &str) -> Vec<u8> {
    [b"a2a/task/", id.as_bytes()].concat()
}

fn places(id: &str) -> Vec<u8> {
    [b"a2a/push/", id.as_bytes()].concat()
}

fn entry(number: u64) -> Vec<u8> {
    format!("a2a/number/{number}").into_bytes()
}

/// The error that a client gets when the store fails.
pub(super) fn failed(error: &StoreError) -> ErrorObject {
    match error {
        StoreError::Full { .. } => ErrorObject::over_limit("tasks", "no room for another task"),
        error => ErrorObject::internal(error),
    }
}
