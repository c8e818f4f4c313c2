//! The connection to a broker, and the inbox of what arrives over it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::client::traits::Publisher as _;
use async_nats::connection::State;
use async_nats::{
    Client, ConnectErrorKind, Event, Message, ServerError, Subject, client::PublishErrorKind,
    message::OutboundMessage,
};
use futures_util::{FutureExt as _, StreamExt as _};
use switchboard_core::{CallError, ErrorObject};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::address::Address;
use super::auth;
use super::inbox::Inbox;
use super::incoming::INBOXES;
use super::part::Control;
use super::subject;
use super::token::Tokens;

/// How long a reconnect waits at most after a failed attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often the client asks whether the broker is there. It gives up when the third question has no answer.
const PING: Duration = Duration::from_secs(5);

/// How long the broker may take to return a message.
const ROUND_TRIP: Duration = Duration::from_secs(5);

/// How long a refusal of the broker may take from its connection to us.
const REFUSAL: Duration = Duration::from_millis(50);

/// A connection to a broker. It reconnects until it is dropped.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) address: Address,
    pub(super) inbox: Arc<Inbox>,
    /// When it reconnected, if it did.
    reconnected: watch::Sender<Option<Instant>>,
    /// Why the broker refused a subscription, if it did.
    refusal: Arc<OnceLock<String>>,
    receiving: JoinHandle<()>,
}

/// Why connecting failed, and whether another attempt would fail as well.
pub(super) struct NotConnected {
    pub(super) text: String,
    pub(super) is_permanent: bool,
}

impl Link {
    /// Connects, and subscribes to the inbox.
    pub(super) async fn open(address: Address, connect_time: Duration) -> Result<Arc<Link>, NotConnected> {
        let permanent = |text: String| NotConnected { text, is_permanent: true };
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (options, user) = auth::from_environment(variable).map_err(permanent)?;
        let inbox = Inbox::new(inbox_prefix(user.as_deref()));
        let (reconnected, refusal) = (watch::Sender::new(None), Arc::default());
        let events = Events {
            inbox: Arc::clone(&inbox),
            reconnected: reconnected.clone(),
            refusal: Arc::clone(&refusal),
            connected: OnceLock::new(),
            broker: address.broker.clone(),
        };
        let events = Arc::new(events);
        let pause = |attempts: usize| {
            LONGEST_PAUSE
                .min(Duration::from_millis(20) * u32::try_from(attempts).unwrap_or(u32::MAX).min(100))
        };
        let options = options
            .name("switchboard")
            .require_tls(address.is_secure)
            .connection_timeout(connect_time)
            .ping_interval(PING)
            .reconnect_delay_callback(pause)
            // We make the subjects, and a broker would refuse others.
            .skip_subject_validation(true)
            .event_callback(move |event| {
                events.take(&event);
                std::future::ready(())
            });
        let broker = format!("{}://{}", if address.is_secure { "tls" } else { "nats" }, address.broker);
        let connecting = tokio::time::timeout(connect_time, options.connect(broker));
        let failed = |text: String, is_permanent: bool| NotConnected {
            text: format!("cannot connect to the NATS server at {}: {text}", address.broker),
            is_permanent,
        };
        let client = match connecting.await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                let is_refused = matches!(
                    error.kind(),
                    ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
                );
                let advice = if is_refused { format!("; {}", auth::advice()) } else { String::new() };
                return Err(failed(format!("{error}{advice}"), is_refused));
            }
            Err(_) => return Err(failed(format!("no answer within {connect_time:?}"), false)),
        };
        let subscribed = client.subscribe(inbox.pattern()).await;
        let mut messages = subscribed.map_err(|error| failed(error.to_string(), false))?;
        let (table, sender) = (Arc::clone(&inbox), client.clone());
        let receiving = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                let Some(late) = table.deliver(message) else { continue };
                if let Some(worker) = late.reply.filter(|worker| worker.starts_with(INBOXES)) {
                    drop(sender.publish_with_headers(worker, Control::Cancel.headers(), "".into()).await);
                }
            }
        });
        Ok(Arc::new(Link { client, address, inbox, reconnected, refusal, receiving }))
    }

    /// Fails while disconnected: the client would queue the message and send it too late.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match self.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => {
                let text = format!("not connected to the NATS server at {}", self.address.broker);
                Err(CallError::Unreachable(text.into()))
            }
        }
    }

    /// Whether it was connected more than once.
    pub(super) fn has_reconnected(&self) -> bool {
        self.last_reconnect().is_some()
    }

    /// Waits until it is connected, or until this time.
    pub(super) async fn connected(&self, until: Instant) {
        let mut reconnects = self.reconnects();
        if self.check().is_err() {
            let _ = tokio::time::timeout_at(until, reconnects.changed()).await;
        }
    }

    fn last_reconnect(&self) -> Option<Instant> {
        *self.reconnected.borrow()
    }

    /// Changes with each reconnect.
    pub(super) fn reconnects(&self) -> watch::Receiver<Option<Instant>> {
        self.reconnected.subscribe()
    }

    /// Queues a message, if there is room now. Gives it back otherwise.
    pub(super) fn try_publish(
        &self,
        message: OutboundMessage,
    ) -> Result<Result<(), ErrorObject>, Box<OutboundMessage>> {
        let size = message.payload.len();
        match self.client.publish_message(message.clone()).now_or_never() {
            Some(sent) => Ok(sent.map_err(|error| self.unsent(&error, size))),
            None => Err(Box::new(message)),
        }
    }

    /// Queues a message as soon as there is room.
    pub(super) async fn publish(&self, message: OutboundMessage) -> Result<(), ErrorObject> {
        let size = message.payload.len();
        self.client.publish_message(message).await.map_err(|error| self.unsent(&error, size))
    }

    /// Waits until the broker has accepted the subscriptions. What it says about the first message is known when the second is back.
    pub(super) async fn ready(&self) -> Result<(), String> {
        self.confirm("".into()).await.map_err(|error| error.to_string())?;
        // On a busy machine the refusal may take a little longer, and a worker that hears nothing must not start.
        tokio::time::sleep(REFUSAL).await;
        self.refusal.get().map_or(Ok(()), |why| Err(why.clone()))
    }

    /// Waits until the broker has seen everything that was sent before. An error if it refused something about this subject.
    pub(super) async fn confirm(&self, subject: Subject) -> Result<(), CallError> {
        let opened = self.inbox.open("", subject);
        // Errors of the broker take another way than messages, so one message is not enough.
        for _ in 0..2 {
            let sent = self.client.publish(opened.subject.clone(), "".into()).await;
            sent.map_err(|error| CallError::Unreachable(error.to_string().into()))?;
            let answered = tokio::time::timeout(ROUND_TRIP, opened.mailbox.next()).await;
            let late = format!("the broker did not answer within {ROUND_TRIP:?}");
            answered.map_err(|_| CallError::Unreachable(late.into()))??;
        }
        Ok(())
    }

    /// Sends a message, and waits for the one that answers it.
    pub(super) async fn request(
        &self,
        message: OutboundMessage,
        time: Duration,
    ) -> Result<Message, CallError> {
        let opened = self.inbox.open("", message.subject.clone());
        let reply = Some(opened.subject.clone());
        self.publish(OutboundMessage { reply, ..message }).await?;
        tokio::time::timeout(time, opened.mailbox.next()).await.unwrap_or(Err(CallError::TimedOut))
    }

    fn unsent(&self, error: &async_nats::PublishError, size: usize) -> ErrorObject {
        if error.kind() == PublishErrorKind::MaxPayloadExceeded {
            let limit = self.client.max_payload();
            let text = format!(
                "a message of {size} bytes exceeds the broker's limit of {limit} bytes (max_payload)"
            );
            return ErrorObject::over_limit("max_payload", text);
        }
        CallError::Unreachable(format!("cannot send to {}: {error}", self.address.broker).into()).into()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

/// Names a subscription for [`Link::confirm`], which takes the subject of messages otherwise: a client may be allowed one without the other.
pub(super) fn subscription_to(subjects: &str) -> Subject {
    Subject::from(format!("subscription to {subjects}"))
}

/// What replies go to, up to the last dot. A broker can restrict the inboxes of each user, so the user is part of it.
fn inbox_prefix(user: Option<&str>) -> String {
    let user: String = user.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
    let mut prefix = if user.is_empty() { "_INBOX.".to_owned() } else { format!("_INBOX_{user}.") };
    Tokens::default().next().write(&mut prefix);
    prefix.push('.');
    prefix
}

/// What happens to a connection.
struct Events {
    inbox: Arc<Inbox>,
    reconnected: watch::Sender<Option<Instant>>,
    refusal: Arc<OnceLock<String>>,
    /// Set when it was connected for the first time.
    connected: OnceLock<()>,
    broker: String,
}

impl Events {
    fn take(&self, event: &Event) {
        match event {
            Event::Connected if self.connected.set(()).is_err() => {
                tracing::info!(broker = self.broker, "reconnected to the NATS server");
                self.reconnected.send_replace(Some(Instant::now()));
            }
            Event::Disconnected => {
                tracing::warn!(broker = self.broker, "lost the connection to the NATS server; reconnecting");
                let why = format!("the connection to the NATS server at {} was lost", self.broker);
                self.inbox.fail(&CallError::Closed(why.into()), false);
            }
            Event::Closed => {
                let why = format!("the connection to the NATS server at {} ended", self.broker);
                self.inbox.fail(&CallError::Closed(why.into()), true);
            }
            Event::ServerError(ServerError::Other(text)) => self.refused(text),
            Event::SlowConsumer(_) => {
                tracing::warn!(broker = self.broker, "messages were lost: too many were waiting");
            }
            _ => tracing::debug!(broker = self.broker, %event, "an event of the NATS server"),
        }
    }

    /// The broker refused something. If it was a message of a call, the call ends. Without a subscription, no answer can arrive.
    fn refused(&self, text: &str) {
        tracing::warn!(broker = self.broker, error = text, "the NATS server refused something");
        let lower = text.to_ascii_lowercase();
        let subscription = "permissions violation for subscription to \"";
        let topic = lower.find(subscription).and_then(|at| text[at + subscription.len()..].split('"').next());
        if let Some(topic) = topic.filter(|topic| topic.starts_with(subject::TOPICS)) {
            let detail = format!("the NATS server does not allow this client to subscribe to {topic}");
            let error = CallError::Rejected(ErrorObject::unauthorized().with_detail(detail));
            self.inbox.fail_sent_to(&subscription_to(topic), &error);
        } else if lower.contains(subscription) && !lower.contains("\"$srv") {
            let why = format!("the NATS server at {} refused a subscription: {text}", self.broker);
            self.inbox.fail(&CallError::CannotConnect(why.clone().into()), true);
            let _ = self.refusal.set(why);
        }
        let at = lower.find("permissions violation for publish to \"");
        let subject = at.and_then(|at| text[at..].split('"').nth(1));
        if let Some(subject) = subject {
            let detail = format!("the NATS server does not allow this client to publish to {subject}");
            let error = CallError::Rejected(ErrorObject::unauthorized().with_detail(detail));
            self.inbox.fail_sent_to(subject, &error);
        }
    }
}
