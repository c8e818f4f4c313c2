//! The numbers of what a topic publishes.

use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{HeaderMap, Subject};
use bytes::Bytes;
use switchboard_core::CallError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::api;
use crate::nats::inbox::is_unheard;
use crate::nats::link::Link;
use crate::nats::token::Tokens;

/// The header that names a publisher.
pub(super) const PUBLISHER: &str = "switchboard-publisher";
/// The header with the number of a message.
pub(super) const SEQUENCE: &str = "switchboard-seq";

/// How long the broker may take to say that it has kept an event.
const ACKNOWLEDGED: Duration = Duration::from_secs(2);

/// How often an event is sent before it is given up.
const ATTEMPTS: usize = 3;

/// A publisher of one topic.
pub(super) struct Publisher {
    name: String,
    /// The number of the last message.
    last: Mutex<u64>,
    /// Whether the broker has let a message pass.
    is_allowed: std::sync::OnceLock<()>,
}

impl Publisher {
    pub(super) fn new() -> Publisher {
        let mut name = String::new();
        Tokens::default().next().write(&mut name);
        Publisher { name, last: Mutex::new(0), is_allowed: std::sync::OnceLock::new() }
    }

    /// Publishes, and waits for the broker only if it could not be known otherwise that this is allowed.
    pub(super) async fn publish(
        &self,
        link: &Link,
        subject: &Subject,
        payload: Bytes,
    ) -> Result<(), CallError> {
        self.send(link, subject, payload, None, None).await?;
        if self.is_allowed.get().is_none() {
            link.confirm(subject.clone()).await?;
            let _ = self.is_allowed.set(());
        }
        Ok(())
    }

    /// Publishes to a stream of the broker, and waits until it is kept. Its position is returned.
    pub(super) async fn keep(
        &self,
        link: &Link,
        subject: &Subject,
        payload: Bytes,
        stream: &str,
    ) -> Result<u64, CallError> {
        let mut number = None;
        let mut failure = CallError::TimedOut;
        for _ in 0..ATTEMPTS {
            let opened = link.inbox.open("", subject.clone());
            let reply = (opened.subject.clone(), stream);
            number = match self.send(link, subject, payload.clone(), Some(reply), number).await {
                Ok(number) => Some(number),
                Err(error) if number.is_none() => return Err(error),
                Err(_) => return Err(failure),
            };
            let until = Instant::now() + ACKNOWLEDGED;
            match tokio::time::timeout_at(until, opened.mailbox.next()).await {
                Ok(Ok(answer)) if is_unheard(&answer) => return Err(api::missing(stream)),
                Ok(Ok(answer)) => return api::position(&answer.payload),
                // It may be kept or not; the broker recognises it when it is sent again.
                Ok(Err(CallError::Closed(why))) => failure = CallError::Closed(why),
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
            link.connected(until).await;
        }
        Err(failure)
    }

    /// Sends a message, with the next number unless it is sent again. Messages leave in the order of their numbers.
    async fn send(
        &self,
        link: &Link,
        subject: &Subject,
        payload: Bytes,
        reply: Option<(Subject, &str)>,
        number: Option<u64>,
    ) -> Result<u64, CallError> {
        let mut last = self.last.lock().await;
        link.check()?;
        let number = number.unwrap_or(*last + 1);
        let mut headers = HeaderMap::new();
        headers.insert(PUBLISHER, self.name.as_str());
        headers.insert(SEQUENCE, number.to_string());
        if let Some((_, stream)) = &reply {
            headers.insert("Nats-Msg-Id", format!("{}.{number}", self.name));
            headers.insert("Nats-Expected-Stream", *stream);
        }
        let reply = reply.map(|(reply, _)| reply);
        let message = OutboundMessage { subject: subject.clone(), reply, payload, headers: Some(headers) };
        link.publish(message).await.map_err(CallError::from)?;
        *last = number.max(*last);
        Ok(number)
    }
}
