//! The queue of a service: streams of JetStream, and one consumer that all workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{HeaderMap, Message as Received, Request, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::JobsOptions;
use crate::store::StoreError;
use crate::store::jetstream::Link;
use crate::store::jetstream::api::Refusal;

/// How long the server keeps a request for jobs.
const PULL: Duration = Duration::from_secs(1);

/// How much longer its answer may take.
const LATE: Duration = Duration::from_secs(3);

/// Within what time the server recognizes a message that it got before.
const WINDOW: Duration = Duration::from_secs(600);

/// How long dead letters are kept.
const DEAD: Duration = Duration::from_secs(30 * 24 * 3600);

/// The consumer of the workers.
const WORKERS: &str = "workers";

/// How much room a message leaves: for its subject and headers, and for the error that a dead letter says beside it.
const HEAD: usize = 20 * 1024;

/// The queue of one service.
pub(super) struct Queue {
    link: Arc<Link>,
    service: String,
    options: JobsOptions,
    /// The number of the connection over which the streams were last seen to be there.
    seen: AtomicU64,
    looking: Mutex<()>,
}

/// Why a job was not stored.
pub(super) enum Unstored {
    /// The queue is full.
    Full,
    /// The message is longer than the server accepts.
    TooLarge {
        size: usize,
        limit: usize,
    },
    Failed(String),
}

impl Queue {
    pub(super) fn new(link: Arc<Link>, service: String, options: JobsOptions) -> Queue {
        Queue { link, service, options, seen: AtomicU64::new(0), looking: Mutex::default() }
    }

    pub(super) fn service(&self) -> &str {
        &self.service
    }

    /// Makes sure that the streams and the consumer are there; again after each reconnect, to a server that may have lost them.
    pub(super) async fn ensure(&self) -> Result<(), StoreError> {
        let connection = self.link.connection()?;
        if self.seen.load(Ordering::Acquire) == connection {
            return Ok(());
        }
        let _looking = self.looking.lock().await;
        if self.seen.load(Ordering::Acquire) == connection {
            return Ok(());
        }
        for config in [self.jobs_config(), self.dead_config()] {
            let name = config["name"].as_str().unwrap_or_default().to_owned();
            if let Err(Refusal::Missing) = self.link.info(&name).await {
                match self.link.create(&name, &config).await {
                    // Another server was faster.
                    Err(Refusal::Other(_)) => self.link.info(&name).await.map(drop)?,
                    created => created.map(drop)?,
                }
            }
        }
        let (stream, consumer) = (self.stream(), self.consumer_config());
        let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{WORKERS}");
        self.link.ask::<Value>(subject, &consumer).await?;
        self.seen.store(connection, Ordering::Release);
        Ok(())
    }

    /// Looks for the streams again before the next operation.
    fn doubt(&self) {
        self.seen.store(0, Ordering::Release);
    }

    fn stream(&self) -> String {
        format!("SB_JOBS_{}", self.service)
    }

    fn subject(&self, job: &str) -> String {
        format!("_SBJ.{}.{job}", self.service)
    }

    fn jobs_config(&self) -> Value {
        json!({
            "name": self.stream(),
            "description": "switchboard jobs",
            "subjects": [format!("_SBJ.{}.>", self.service)],
            "retention": "workqueue",
            "storage": "file",
            "max_bytes": self.options.bytes,
            "discard": "new",
            "num_replicas": self.link.options.replicas,
            "duplicate_window": nanos(WINDOW),
            "allow_direct": false,
        })
    }

    fn dead_config(&self) -> Value {
        json!({
            "name": format!("SB_DEAD_{}", self.service),
            "description": "switchboard jobs that were given up",
            "subjects": [format!("_SBD.{}.>", self.service)],
            "retention": "limits",
            "storage": "file",
            "max_bytes": self.options.bytes,
            "max_age": nanos(DEAD),
            "discard": "old",
            "num_replicas": self.link.options.replicas,
            "duplicate_window": nanos(WINDOW),
            "allow_direct": false,
        })
    }

    /// The server delivers a job as often as it takes. How often it is run is for the record to say, because a delivery is not an attempt.
    fn consumer_config(&self) -> Value {
        json!({
            "stream_name": self.stream(),
            "config": {
                "durable_name": WORKERS,
                "ack_policy": "explicit",
                "ack_wait": nanos(self.options.lost_after),
                "max_deliver": -1,
                "max_ack_pending": 1 << 16,
                "max_waiting": 1 << 13,
                "deliver_policy": "all",
                "replay_policy": "instant",
            },
        })
    }

    /// Stores a job. It is stored once, however often this is tried: while it is in the queue no other message has its subject, and after that the
    /// server recognizes its identifier for some time.
    pub(super) async fn push(&self, job: &str, body: &Bytes) -> Result<(), Unstored> {
        let (size, limit) = (body.len() + HEAD, self.link.client.max_payload());
        if size > limit {
            return Err(Unstored::TooLarge { size, limit });
        }
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", job);
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        // The second time in case the message or the answer was lost.
        let mut outcome = self.publish(self.subject(job), &headers, body).await;
        if let Err(Refusal::Unknown(_)) = outcome {
            outcome = self.publish(self.subject(job), &headers, body).await;
        }
        match outcome {
            Ok(()) | Err(Refusal::Conflict) => Ok(()),
            Err(Refusal::Full) => Err(Unstored::Full),
            Err(refusal) => {
                self.doubt();
                Err(Unstored::Failed(StoreError::from(refusal).to_string()))
            }
        }
    }

    async fn publish(&self, subject: String, headers: &HeaderMap, body: &Bytes) -> Result<(), Refusal> {
        let request = Request::new().headers(headers.clone()).payload(body.clone());
        let answer = self.link.send::<Value>(subject, request.timeout(Some(self.link.options.timeout)));
        answer.await.map(drop)
    }

    /// Stores a dead letter.
    pub(super) async fn bury(&self, job: &str, letter: &Bytes) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", job);
        let buried = self.publish(format!("_SBD.{}.{job}", self.service), &headers, letter).await;
        if buried.is_err() {
            self.doubt();
        }
        buried
    }

    /// Removes a job from the queue.
    pub(super) async fn remove(&self, job: &str) -> Result<(), Refusal> {
        self.link.purge(&self.stream(), &self.subject(job)).await
    }

    /// Asks for up to so many jobs.
    pub(super) async fn pull(&self, most: usize) -> Result<Pull, StoreError> {
        self.ensure().await?;
        let failed = |error: &dyn std::fmt::Display| StoreError::Unavailable(error.to_string());
        let inbox = self.link.client.new_inbox();
        let deliveries = self.link.client.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{WORKERS}", self.stream());
        let body = json!({ "batch": most, "expires": nanos(PULL) }).to_string();
        let asked = self.link.client.publish_with_reply(subject, inbox, body.into()).await;
        asked.map_err(|error| failed(&error))?;
        Ok(Pull { link: Arc::clone(&self.link), deliveries, left: most })
    }

    /// Forgets that the streams are there if an answer to a pull says so.
    pub(super) fn pull_failed(&self) {
        self.doubt();
    }

    /// Waits until the server has what was sent.
    pub(super) async fn flush(&self) {
        drop(timeout(self.link.options.timeout, self.link.client.flush()).await);
    }

    /// Notifies waiting callers that the record of a job has changed.
    pub(super) async fn tell(&self, job: &str) {
        // Those who miss it look again after a while.
        let _ = self.link.client.publish(self.event(job), Bytes::new()).await;
    }

    /// Notices of changes of a job, from now on.
    pub(super) async fn watch(&self, job: &str) -> Result<Subscriber, StoreError> {
        let watching = self.link.client.subscribe(self.event(job)).await;
        watching.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    fn event(&self, job: &str) -> String {
        format!("_SBE.{}.{job}", self.service)
    }
}

/// A request for jobs, which the server answers for a while.
pub(super) struct Pull {
    link: Arc<Link>,
    deliveries: Subscriber,
    left: usize,
}

/// How a pull goes on.
pub(super) enum Pulled {
    Job(Delivery),
    /// There is nothing more for now.
    Over,
    /// The server does not know the queue, or is gone.
    Failed,
}

impl Pull {
    pub(super) async fn next(&mut self) -> Pulled {
        if self.left == 0 {
            return Pulled::Over;
        }
        match timeout(PULL + LATE, self.deliveries.next()).await {
            Ok(Some(Received { status: Some(status), .. })) => match status.as_u16() {
                404 | 408 => Pulled::Over,
                _ => Pulled::Failed,
            },
            Ok(Some(Received { payload, reply: Some(reply), .. })) => {
                self.left -= 1;
                Pulled::Job(Delivery { link: Arc::clone(&self.link), payload, reply: reply.to_string() })
            }
            Ok(_) | Err(_) => Pulled::Failed,
        }
    }
}

/// A job that was delivered to this worker, until it is acknowledged or given back.
pub(super) struct Delivery {
    link: Arc<Link>,
    pub(super) payload: Bytes,
    reply: String,
}

impl Delivery {
    /// Removes the job from the queue. If this fails, it is delivered again, and its record says that it is done.
    pub(super) async fn acknowledge(&self) {
        let body = Bytes::from_static(b"+ACK");
        let request = Request::new().payload(body).timeout(Some(self.link.options.timeout));
        if let Err(error) = self.link.client.send_request(self.reply.clone(), request).await {
            tracing::debug!(%error, "a job was not acknowledged");
        }
    }

    /// Gives the job back, to be delivered again after this time.
    pub(super) async fn give_back(&self, delay: Duration) {
        let body = match delay {
            Duration::ZERO => "-NAK".to_owned(),
            delay => format!("-NAK {}", json!({ "delay": nanos(delay) })),
        };
        self.say(body).await;
    }

    /// Tells the server that the job is still being worked on.
    pub(super) async fn keep(&self) {
        self.say("+WPI".to_owned()).await;
    }

    /// How often it was delivered, this time included.
    pub(super) fn count(&self) -> u64 {
        // $JS.ACK.STREAM.CONSUMER.COUNT. …, with two more tokens before the stream on newer servers.
        let tokens: Vec<&str> = self.reply.split('.').collect();
        let at = if tokens.len() > 9 { 6 } else { 4 };
        tokens.get(at).and_then(|count| count.parse().ok()).unwrap_or(1)
    }

    async fn say(&self, body: String) {
        if let Err(error) = self.link.client.publish(self.reply.clone(), body.into()).await {
            tracing::debug!(%error, "the state of a job was not told to the NATS server");
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(i64::MAX as u64).min(i64::MAX as u64)
}
