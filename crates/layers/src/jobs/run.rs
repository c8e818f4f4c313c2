//! One attempt at a job.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use switchboard_core::observer::End;
use switchboard_core::{Answer, Code, Context, Engine, Json, Session};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::message::DeadLetter;
use super::queue::Delivery;
use super::record::Record;
use super::{Job, JobState, Jobs, Message};
use crate::store::StoreError;

/// How often a result is written that the store does not accept.
const WRITES: u32 = 20;

/// The time between these.
const BETWEEN: Duration = Duration::from_millis(500);

/// How long a job waits whose record cannot be read or written.
const LATER: Duration = Duration::from_secs(5);

/// How often a job may be refused by limits, which is not an attempt.
const REFUSALS: u64 = 100;

/// The longest text of an error that is recorded, in bytes.
const LONGEST_ERROR: usize = 16 * 1024;

/// One attempt at a job.
pub(super) struct Run {
    jobs: Jobs,
    engine: Engine,
    session: Session,
    delivery: Delivery,
}

/// How the call of a job ended, as the observer saw it.
#[derive(Default)]
pub(super) struct HowEnded(OnceLock<End>);

impl HowEnded {
    pub(super) fn note(&self, end: End) {
        let _ = self.0.set(end);
    }
}

/// What to do with a job that was delivered.
enum Claim {
    /// It is this worker's; this is its record.
    Run(Record),
    /// It has ended.
    Ended,
    /// It was begun often enough.
    Exhausted(Record),
}

/// How an attempt ended.
enum Attempt {
    Done(Json),
    Failed(Json),
    /// It is worth another attempt.
    Again(Json),
    /// It was refused before it ran.
    Refused(Json),
    /// Its record changed: it was cancelled, or another worker runs it.
    Lost,
    /// The worker ends.
    Ending,
}

impl Run {
    pub(super) fn new(jobs: Jobs, engine: Engine, session: Session, delivery: Delivery) -> Run {
        Run { jobs, engine, session, delivery }
    }

    pub(super) async fn run(self, ending: watch::Receiver<bool>) {
        let Some(message) = Message::parse(&self.delivery.payload) else {
            return self.bury_unreadable().await;
        };
        let outcome = match self.claim(&message).await {
            Ok(Claim::Run(record)) => self.attempt(&message, record, ending).await,
            Ok(Claim::Ended) => {
                self.delivery.acknowledge().await;
                Ok(())
            }
            Ok(Claim::Exhausted(record)) => {
                let lost =
                    error_json(Code::UPSTREAM_FAILED, "the worker of the job was lost at each attempt");
                let error = record.error.clone().unwrap_or(lost);
                self.bury(&message, &record, error).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::warn!(job = message.job, %error, "a job waits: its record is not accessible");
            self.delivery.give_back(LATER).await;
        }
    }

    /// Makes the job this worker's, unless it has ended.
    async fn claim(&self, message: &Message) -> Result<Claim, StoreError> {
        let Jobs(jobs) = &self.jobs;
        loop {
            let found = jobs.records.read(message.job.as_bytes()).await?;
            let now = jobs.clock.millis();
            let Some(bytes) = found else {
                // It waited for longer than its record was kept.
                let record = Record::queued(message, now).to_bytes();
                jobs.records.insert(message.job.as_bytes(), &record, jobs.options.keep).await?;
                continue;
            };
            let unreadable = || StoreError::Unavailable("the record of a job cannot be read".to_owned());
            let record = Record::parse(&bytes).ok_or_else(unreadable)?;
            if record.state.is_final() {
                return Ok(Claim::Ended);
            }
            if record.attempts >= jobs.options.attempts || self.delivery.count() > REFUSALS {
                return Ok(Claim::Exhausted(record));
            }
            let mut running = record.in_state(JobState::Running, now);
            running.attempts += 1;
            if self.jobs.replace(&message.job, &bytes, &running).await? {
                return Ok(Claim::Run(running));
            }
        }
    }

    /// Runs the job, and records how the attempt ended.
    async fn attempt(
        &self,
        message: &Message,
        record: Record,
        mut ending: watch::Receiver<bool>,
    ) -> Result<(), StoreError> {
        let attempt = tokio::select! {
            biased;
            () = self.lost(message, &record) => Attempt::Lost,
            attempt = self.call(message, record.attempts) => attempt,
            _ = ending.wait_for(|is_ending| *is_ending) => Attempt::Ending,
        };
        match attempt {
            Attempt::Done(result) => {
                let result = Some(result);
                self.end(
                    message,
                    &record,
                    Record { result, error: None, ..self.ended(&record, JobState::Done) },
                )
                .await
            }
            Attempt::Failed(error) => {
                let error = Some(error);
                self.end(message, &record, Record { error, ..self.ended(&record, JobState::Failed) }).await
            }
            Attempt::Again(error) if record.attempts >= self.jobs.0.options.attempts => {
                self.bury(message, &record, error).await
            }
            Attempt::Again(error) => {
                let delay = self.jobs.0.options.delay(record.attempts);
                self.put_back(message, &record, record.attempts, Some(error), delay).await
            }
            Attempt::Refused(error) => {
                let count = u32::try_from(self.delivery.count()).unwrap_or(u32::MAX);
                let delay = self.jobs.0.options.delay(count);
                self.put_back(message, &record, record.attempts - 1, Some(error), delay).await
            }
            Attempt::Ending => {
                self.put_back(message, &record, record.attempts - 1, None, Duration::ZERO).await
            }
            // The caller or the worker that changed the record takes care of the job.
            Attempt::Lost => Ok(()),
        }
    }

    fn ended(&self, record: &Record, state: JobState) -> Record {
        record.in_state(state, self.jobs.0.clock.millis())
    }

    /// Calls the method of the job.
    async fn call(&self, message: &Message, attempt: u32) -> Attempt {
        let request = match message.request() {
            Ok(request) => request,
            Err(error) => return Attempt::Failed(error_json(error.code, &error.message)),
        };
        let how = Arc::new(HowEnded::default());
        let mut cx = message.context(Context::from(self.session.clone()));
        cx.insert(Arc::clone(&how));
        cx.insert(Job { id: message.job.clone(), attempt });
        let answer = self.engine.exchange(request.as_bytes().to_vec(), &cx).await;
        attempt_of(answer, how.0.get().copied())
    }

    /// Ends when the job is not this worker's any more. Until then, tells the server that it works on it.
    async fn lost(&self, message: &Message, record: &Record) {
        let mut changes = self.jobs.0.queue.watch(&message.job).await.ok();
        let time = self.jobs.0.options.lost_after / 3;
        let mut ticks = interval_at(Instant::now() + time, time);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Ok(found) = self.jobs.record(&message.job).await
                && found.is_none_or(|found| found.mark != record.mark)
            {
                return;
            }
            let changed = async {
                match &mut changes {
                    Some(changes) => changes.next().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                is_open = changed => {
                    if !is_open {
                        changes = None;
                    }
                }
                _ = ticks.tick() => self.delivery.keep().await,
            }
        }
    }

    /// Records how the job ended. Only if that is certain, it is removed from the queue.
    async fn end(&self, message: &Message, running: &Record, ended: Record) -> Result<(), StoreError> {
        let mut writes = 0;
        loop {
            match self.jobs.replace(&message.job, &running.to_bytes(), &ended).await {
                Ok(true) => {
                    self.delivery.acknowledge().await;
                    return Ok(());
                }
                // Cancelled, or run by another worker as well: that one's end counts.
                Ok(false) => return Ok(()),
                Err(error) if writes == WRITES => return Err(error),
                Err(_) => {
                    writes += 1;
                    self.delivery.keep().await;
                    sleep(BETWEEN).await;
                }
            }
        }
    }

    /// Lets the job wait for another attempt.
    async fn put_back(
        &self,
        message: &Message,
        running: &Record,
        attempts: u32,
        error: Option<Json>,
        delay: Duration,
    ) -> Result<(), StoreError> {
        let error = error.or_else(|| running.error.clone());
        let queued = Record { attempts, error, ..self.ended(running, JobState::Queued) };
        if self.jobs.replace(&message.job, &running.to_bytes(), &queued).await? {
            self.delivery.give_back(delay).await;
        }
        Ok(())
    }

    /// Makes a dead letter of the job.
    async fn bury(&self, message: &Message, record: &Record, error: Json) -> Result<(), StoreError> {
        let content = message.to_json().unwrap_or(Json::NULL);
        let died = self.jobs.0.clock.millis();
        let letter = DeadLetter { error: &error, attempts: record.attempts, died, message: &content };
        let letter = Json::encode_ref(&letter).map(|json| json.as_bytes().to_vec()).unwrap_or_default();
        self.jobs.0.queue.bury(&message.job, &Bytes::from(letter)).await?;
        tracing::error!(job = message.job, attempts = record.attempts, "a job is a dead letter now");
        let dead = Record { error: Some(error), ..self.ended(record, JobState::Dead) };
        self.end(message, record, dead).await
    }

    /// Makes a dead letter of what is not a job.
    async fn bury_unreadable(&self) {
        tracing::error!("a message in the queue is not a job");
        let name = format!("unreadable-{:016x}", fastrand::u64(..));
        match self.jobs.0.queue.bury(&name, &self.delivery.payload).await {
            Ok(()) => self.delivery.acknowledge().await,
            Err(_) => self.delivery.give_back(LATER).await,
        }
    }
}

/// What an answer means for its job.
fn attempt_of(answer: Answer, end: Option<End>) -> Attempt {
    let lost = || Attempt::Failed(error_json(Code::INTERNAL_ERROR, "the method gave no answer"));
    let Some(answer) = answer.into_body().and_then(|body| Json::parse(body).ok()) else { return lost() };
    let [result, error] = answer.pick(["result", "error"]);
    match (result, error) {
        (Some(result), None) => Attempt::Done(result.detached()),
        (_, Some(error)) => failed(error.detached(), end),
        (None, None) => lost(),
    }
}

/// What an error means for its job.
fn failed(error: Json, end: Option<End>) -> Attempt {
    let [code, message, data] = error.pick(["code", "message", "data"]);
    let code = code.and_then(|code| code.decode().ok()).map_or(Code::INTERNAL_ERROR, Code);
    let retryable = data.as_ref().and_then(|data| data.get("retryable"));
    let is_retryable = retryable.is_some_and(|retryable| retryable.as_bytes() == b"true");
    let error = match error.as_bytes().len() > LONGEST_ERROR {
        true => error_json(code, &message.and_then(|text| text.decode::<String>().ok()).unwrap_or_default()),
        false => error,
    };
    match code {
        Code::OVER_LIMIT | Code::SHUTTING_DOWN => Attempt::Refused(error),
        // The server behind a gateway may be back soon.
        Code::UPSTREAM_FAILED => Attempt::Again(error),
        _ if is_retryable || end == Some(End::Panicked) => Attempt::Again(error),
        _ => Attempt::Failed(error),
    }
}

/// An error as it is recorded.
fn error_json(code: Code, message: &str) -> Json {
    #[derive(serde::Serialize)]
    struct Recorded<'a> {
        code: i64,
        message: &'a str,
    }
    let message: String = message.chars().take(LONGEST_ERROR / 8).collect();
    Json::encode_ref(&Recorded { code: code.0, message: &message }).unwrap_or(Json::NULL)
}
