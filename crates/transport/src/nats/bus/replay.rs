//! Reading what is kept, in order: a consumer of JetStream that is made anew whenever something is missing.
//!
//! Events are pulled as they are read, so a slow reader delays only itself. It may fall so far behind that events are gone when it comes to
//! them. The numbers of publishers tell how many.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{Message, Subject, Subscriber};
use futures_core::Stream;
use futures_util::stream::{StreamExt as _, unfold};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{CallError, Gap, GapReason};
use tokio::sync::watch;
use tokio::time::Instant;

use super::api;
use super::event::{Next, Start};
use super::hub::received;
use super::keep::Kept;
use super::seen::Seen;
use crate::nats::link::Link;

/// How many events are asked for at once. So many wait for a reader at most.
const BATCH: u64 = 64;

/// How long the broker waits for events before a request ends.
const EXPIRES: Duration = Duration::from_secs(30);

/// How often the broker says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// After this time without a message the consumer is gone.
const SILENCE: Duration = Duration::from_secs(12);

/// How long the broker keeps a consumer that asks for nothing.
const INACTIVE: Duration = Duration::from_secs(60);

/// How long a reader waits before it tries again.
const PAUSE: Duration = Duration::from_millis(250);

/// A reader of kept events.
pub(super) struct Replay {
    kept: Arc<Kept>,
    root: String,
    subjects: Subject,
    /// Whether it reads everything that the stream keeps.
    is_all: bool,
    start: Start,
    seen: Seen,
    consumer: Option<Consumer>,
    /// What to give next.
    held: VecDeque<Next>,
    is_over: bool,
}

/// A consumer of the broker.
struct Consumer {
    name: String,
    /// Where events are asked for.
    next: Subject,
    /// Where they are sent to. They keep their own subjects, so the inbox of the connection could not tell whose they are.
    inbox: Subject,
    messages: Subscriber,
    /// After a reconnect, events may be missing.
    reconnects: watch::Receiver<Option<Instant>>,
    /// How many events are still to come of those that were asked for.
    left: u64,
    /// The number of the last event that it sent.
    last: u64,
}

impl Replay {
    pub(super) async fn open(
        kept: Arc<Kept>,
        root: String,
        subjects: Subject,
        is_all: bool,
        start: Start,
    ) -> Result<Replay, CallError> {
        let mut replay = Replay {
            kept,
            root,
            subjects,
            is_all,
            start,
            seen: Seen::default(),
            consumer: None,
            held: VecDeque::new(),
            is_over: false,
        };
        replay.connect().await?;
        Ok(replay)
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Next> + Send + 'static {
        unfold(self, |mut replay| async move { replay.next().await.map(|next| (next, replay)) })
    }

    async fn next(&mut self) -> Option<Next> {
        while !self.is_over {
            if let Some(next) = self.held.pop_front() {
                return Some(next);
            }
            let done = match self.consumer {
                Some(_) => self.receive().await,
                None => self.connect().await,
            };
            match done {
                Ok(()) => {}
                Err(error @ (CallError::Rejected(_) | CallError::CannotConnect(_))) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                Err(error) => {
                    tracing::debug!(%error, "reading kept events again");
                    self.close();
                    self.kept.link().connected(Instant::now() + PAUSE).await;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        None
    }

    /// Makes a consumer that begins where this reader is.
    async fn connect(&mut self) -> Result<(), CallError> {
        let state = self.kept.info().await?.state;
        self.start = match self.start {
            Start::New => Start::At(state.last_seq + 1),
            Start::All => Start::At(state.first_seq.max(1)),
            Start::At(wanted) => Start::At(self.checked(wanted, state.first_seq, state.last_seq)),
            Start::Last => Start::Last,
        };
        let stream = self.kept.stream();
        let api = format!("CONSUMER.CREATE.{stream}");
        let body = json!({ "stream_name": stream, "config": self.config() });
        let made: Result<Made, api::Refusal> = api::ask(self.kept.link(), &api, &body).await;
        let Made { name } = made.map_err(|why| self.kept.failed(why))?;
        let next = Subject::from(format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}"));
        let link = self.kept.link();
        let inbox = link.inbox.subject_beside();
        let reconnects = link.reconnects();
        let subscribed = link.client().subscribe(inbox.clone()).await;
        let messages = subscribed.map_err(|error| CallError::Unreachable(error.to_string().into()))?;
        let mut consumer = Consumer { name, next, inbox, messages, reconnects, left: 0, last: 0 };
        consumer.ask(link).await?;
        link.confirm(consumer.next.clone()).await?;
        self.consumer = Some(consumer);
        Ok(())
    }

    /// The position from which events are read. A gap reports those before it that are gone.
    fn checked(&mut self, wanted: u64, first: u64, last: u64) -> u64 {
        // Positions begin at 1.
        let (wanted, first) = (wanted.max(1), first.max(1));
        if wanted > last.saturating_add(1) {
            // The stream was deleted and created again, so what was in between is unknown.
            self.skip(Gap::new(None, GapReason::Expired));
            return first;
        }
        if wanted < first {
            self.skip(Gap::new(self.is_all.then(|| first - wanted), GapReason::Expired));
        }
        wanted.max(first)
    }

    /// Tells that events are gone. The numbers of their publishers need not tell it again.
    fn skip(&mut self, gap: Gap) {
        self.held.push_back(Err(CallError::Gap(gap)));
        self.seen = Seen::default();
    }

    fn config(&self) -> Value {
        let mut config = json!({
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "filter_subject": self.subjects.as_str(),
            "inactive_threshold": nanos(INACTIVE),
            "mem_storage": true,
            "num_replicas": 1,
        });
        match self.start {
            Start::At(position) => {
                config["deliver_policy"] = json!("by_start_sequence");
                config["opt_start_seq"] = json!(position);
            }
            Start::Last => config["deliver_policy"] = json!("last_per_subject"),
            Start::New => config["deliver_policy"] = json!("new"),
            Start::All => config["deliver_policy"] = json!("all"),
        }
        config
    }

    /// Waits for the next message of the consumer.
    async fn receive(&mut self) -> Result<(), CallError> {
        let Some(consumer) = &mut self.consumer else { return Ok(()) };
        if consumer.left == 0 {
            consumer.ask(self.kept.link()).await?;
        }
        let message = consumer.receive().await?;
        match message.status.map(|status| status.as_u16()) {
            None => {}
            Some(100) => return Ok(()),
            // The request has expired.
            Some(408) => {
                consumer.left = 0;
                return Ok(());
            }
            Some(status) => {
                let text = format!("the consumer ended with status {status}");
                return Err(CallError::Closed(text.into()));
            }
        }
        let Some((position, number)) = numbers(&message) else {
            return Err(CallError::Protocol("a kept event has no position".into()));
        };
        if number != consumer.last + 1 {
            return Err(CallError::Closed("an event was lost on its way, and is read again".into()));
        }
        consumer.last = number;
        consumer.left -= 1;
        self.start = Start::At(position + 1);
        if let Some(gap) = self.seen.gap(message.headers.as_ref(), GapReason::Expired) {
            self.held.push_back(Err(CallError::Gap(gap)));
        }
        self.held.push_back(received(&message, &self.root, Some(position)));
        Ok(())
    }

    fn close(&mut self) {
        let Some(consumer) = self.consumer.take() else { return };
        let subject = format!("$JS.API.CONSUMER.DELETE.{}.{}", self.kept.stream(), consumer.name);
        let message =
            OutboundMessage { subject: subject.into(), reply: None, payload: "".into(), headers: None };
        // Otherwise the broker removes it after a while.
        drop(self.kept.link().try_publish(message));
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.close();
    }
}

impl Consumer {
    /// Asks for more events.
    async fn ask(&mut self, link: &Link) -> Result<(), CallError> {
        link.check()?;
        let body = json!({ "batch": BATCH, "expires": nanos(EXPIRES), "idle_heartbeat": nanos(HEARTBEAT) });
        let (subject, reply) = (self.next.clone(), Some(self.inbox.clone()));
        let message = OutboundMessage { subject, reply, payload: body.to_string().into(), headers: None };
        link.publish(message).await.map_err(CallError::from)?;
        self.left = BATCH;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Message, CallError> {
        let closed = |why: &'static str| Err(CallError::Closed(why.into()));
        tokio::select! {
            biased;
            _ = self.reconnects.changed() => closed("the connection to the NATS server was lost"),
            message = self.messages.next() => match message {
                Some(message) => Ok(message),
                None => closed("the connection to the NATS server ended"),
            },
            () = tokio::time::sleep(SILENCE) => Err(CallError::TimedOut),
        }
    }
}

#[derive(Deserialize)]
struct Made {
    name: String,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The position of an event, and its number among those of its consumer, from the subject to acknowledge it:
/// `$JS.ACK.STREAM.CONSUMER.DELIVERED.POSITION.NUMBER.TIME.PENDING`, with two more tokens before the stream since 2.10.
fn numbers(message: &Message) -> Option<(u64, u64)> {
    let tokens: Vec<&str> = message.reply.as_ref()?.split('.').collect();
    let first = if tokens.len() > 9 { 7 } else { 5 };
    Some((tokens.get(first)?.parse().ok()?, tokens.get(first + 1)?.parse().ok()?))
}
