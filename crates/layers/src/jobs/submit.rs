//! What is done with jobs from outside: they are submitted, asked for and cancelled.

use std::future::pending;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Serialize;
use switchboard_core::{Call, CallError, Code, ErrorObject, Json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::message::is_job_id;
use super::queue::Unstored;
use super::record::Record;
use super::{JobState, Jobs, MAX_KEY, Message};
use crate::store::StoreError;

/// How long waiting callers rely on notices.
const LOOK: Duration = Duration::from_secs(2);

/// How long they wait after a record could not be read.
const PAUSE: Duration = Duration::from_millis(200);

impl Jobs {
    /// Stores a job that runs this call. The same key gives the same job.
    pub(super) async fn submit(
        &self,
        call: &Call,
        key: Option<&str>,
    ) -> Result<(String, Record), ErrorObject> {
        if key.is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
            return Err(ErrorObject::invalid_params(format!("the key of a job has 1 to {MAX_KEY} bytes")));
        }
        let now = self.0.clock.millis();
        let message = Message::of(call, self.service(), key, now)?;
        let body = message.to_json()?.as_bytes().to_vec().into();
        let mut record = Record::queued(&message, now);
        let job = message.job;
        self.0.queue.ensure().await.map_err(|error| unavailable(&error))?;
        let inserted = self.0.records.insert(job.as_bytes(), &record.to_bytes(), self.0.options.keep).await;
        let is_new = inserted.map_err(|error| match error {
            StoreError::Full { .. } => not_stored(&Unstored::Full, true),
            error => unavailable(&error),
        })?;
        if !is_new {
            let known = self.record(&job).await?.ok_or_else(|| unavailable(&"it was removed meanwhile"))?;
            if known.params != record.params {
                let text = "the key was used for a job with other params";
                return Err(ErrorObject::invalid_request(text));
            }
            // It may not be in the queue: who submitted it may have died in between.
            if known.state != JobState::Queued || known.attempts > 0 {
                return Ok((job, known));
            }
            record = known;
        }
        match self.0.queue.push(&job, &body).await {
            Ok(()) => Ok((job, record)),
            Err(unstored) => {
                // A message that may have been stored keeps its record.
                if !matches!(unstored, Unstored::Failed(_)) {
                    drop(self.0.records.remove(job.as_bytes()).await);
                }
                Err(not_stored(&unstored, key.is_some()))
            }
        }
    }

    /// The record of a job of this owner.
    pub(super) async fn owned(&self, job: &str, owner: &str) -> Result<Record, ErrorObject> {
        if !is_job_id(job) {
            return Err(unknown(job));
        }
        self.record(job).await?.filter(|record| record.owner == owner).ok_or_else(|| unknown(job))
    }

    /// The record of a job of this owner when it has ended, or after this time.
    pub(super) async fn result(&self, job: &str, owner: &str, until: Instant) -> Result<Record, ErrorObject> {
        let record = self.owned(job, owner).await?;
        if record.state.is_final() || until <= Instant::now() {
            return Ok(record);
        }
        let Ok(_place) = self.0.waiting.try_acquire() else {
            let text = format!("{} callers wait for results; try again later", self.0.options.waiting);
            return Err(ErrorObject::over_limit("jobs.waiting", text));
        };
        let mut changes = self.0.queue.watch(job).await.ok();
        loop {
            match self.owned(job, owner).await {
                Ok(record) if record.state.is_final() || until <= Instant::now() => return Ok(record),
                // The server may be back before the time is over.
                Err(error) if error.code != Code::UPSTREAM_FAILED || until <= Instant::now() => {
                    return Err(error);
                }
                Ok(_) => {}
                Err(_) => sleep_until(until.min(Instant::now() + PAUSE)).await,
            }
            let changed = async {
                match &mut changes {
                    Some(changes) => changes.next().await,
                    None => pending().await,
                }
            };
            if let Ok(None) = timeout_at(until.min(Instant::now() + LOOK), changed).await {
                changes = None;
            }
        }
    }

    /// Cancels a job, unless it has ended.
    pub(super) async fn cancel(&self, job: &str, owner: &str) -> Result<Record, ErrorObject> {
        loop {
            let record = self.owned(job, owner).await?;
            if record.state.is_final() {
                return Ok(record);
            }
            let cancelled = record.in_state(JobState::Cancelled, self.0.clock.millis());
            if self.replace(job, &record.to_bytes(), &cancelled).await.map_err(|error| unavailable(&error))? {
                if self.0.queue.remove(job).await.is_err() {
                    tracing::debug!(job, "a cancelled job is still in the queue; its worker will drop it");
                }
                return Ok(cancelled);
            }
        }
    }

    pub(super) async fn record(&self, job: &str) -> Result<Option<Record>, ErrorObject> {
        let found = self.0.records.read(job.as_bytes()).await.map_err(|error| unavailable(&error))?;
        Ok(found.and_then(|bytes| Record::parse(&bytes)))
    }

    /// Replaces the record of a job if it is what is expected, and tells those who wait.
    pub(super) async fn replace(
        &self,
        job: &str,
        expected: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError> {
        let Jobs(inner) = self;
        let replaced =
            inner.records.replace(job.as_bytes(), expected, &record.to_bytes(), inner.options.keep);
        let is_replaced = replaced.await?;
        if is_replaced {
            inner.queue.tell(job).await;
        }
        Ok(is_replaced)
    }
}

/// The error for a job that does not exist, or belongs to another caller.
fn unknown(job: &str) -> ErrorObject {
    #[derive(Serialize)]
    struct Data<'a> {
        details: &'static str,
        job: &'a str,
    }
    let shown: String = job.chars().take(64).collect();
    let data = Data {
        details: "unknown job: it does not exist, is kept no longer, or is another caller's",
        job: &shown,
    };
    let mut error = ErrorObject::invalid_params("");
    error.data = Json::encode_ref(&data).ok();
    error
}

/// Why a job was refused. One without a key that may have been stored must not be submitted again lightly.
fn not_stored(unstored: &Unstored, has_key: bool) -> ErrorObject {
    match unstored {
        Unstored::Full => ErrorObject::over_limit("jobs.queue", "the queue is full; try again later"),
        Unstored::TooLarge { size, limit } => {
            let text = format!(
                "a job of {size} bytes exceeds the limit of the NATS server, {limit} bytes (max_payload)"
            );
            ErrorObject::over_limit("jobs.size", text)
        }
        Unstored::Failed(why) if has_key => unavailable(why),
        Unstored::Failed(why) => {
            tracing::warn!(why, "it is not known whether a job was stored");
            let text =
                "it is not known whether the job was stored; give jobs a key, and submit them again with it";
            ErrorObject::upstream_failed(text)
        }
    }
}

/// -32004: nothing can be said about jobs now, so the caller should try again.
pub(super) fn unavailable(why: &dyn std::fmt::Display) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        details: &'static str,
        retryable: bool,
    }
    let why = why.to_string();
    tracing::warn!(why, "jobs are unavailable");
    let data = Data { details: "the queue of jobs is unavailable; try again later", retryable: true };
    // It says that the call did not run, so its idempotency key can be used again.
    ErrorObject::from(CallError::Unreachable("the queue of jobs is unavailable".into())).with_data(&data)
}
