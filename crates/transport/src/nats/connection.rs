//! One connection to a broker, and what happens to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, ReconnectToServer, ServerAddr, ServerError,
};
use futures_util::StreamExt as _;
use switchboard_core::{CallError, ErrorObject};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::address::Address;
use super::auth;
use super::inbox::Inbox;
use super::incoming::INBOXES;
use super::link::{NotConnected, subscription_to};
use super::part::Control;
use super::subject;

/// How long a reconnect waits at most after a failed attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often the client asks whether the broker is there. It gives up when the third question has no answer.
const PING: Duration = Duration::from_secs(5);

/// Where no broker is. Connecting to it fails at once.
const NOWHERE: &str = "127.0.0.1:0";

/// A connection, whose messages are delivered to an inbox. It ends when it is dropped.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The servers to connect to when it is lost, if the client does not do that itself.
    pub(super) servers: Vec<ServerAddr>,
    /// Whether another one took its place. Its end does not concern what waits for messages.
    is_replaced: Arc<AtomicBool>,
    receiving: JoinHandle<()>,
}

impl Connection {
    /// Connects by these options to one of these servers.
    pub(super) async fn open(
        options: ConnectOptions,
        address: &Address,
        servers: Vec<ServerAddr>,
        events: &Arc<Events>,
        connect_time: Duration,
    ) -> Result<Connection, NotConnected> {
        let failed = |text: String, is_permanent: bool| NotConnected {
            text: format!("cannot connect to the NATS server at {}: {text}", address.broker),
            is_permanent,
        };
        let (takes, is_replaced) = (Arc::clone(events), Arc::<AtomicBool>::default());
        let was_replaced = Arc::clone(&is_replaced);
        let options = options
            .name("switchboard")
            .require_tls(address.is_secure)
            .connection_timeout(connect_time)
            .ping_interval(PING)
            .reconnect_delay_callback(pause)
            // We make the subjects, and a broker would refuse others.
            .skip_subject_validation(true)
            .event_callback(move |event| {
                if matches!(event, Event::Disconnected) || !was_replaced.load(Ordering::Relaxed) {
                    takes.take(&event);
                }
                std::future::ready(())
            });
        let client = match tokio::time::timeout(connect_time, options.connect(servers)).await {
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
        let subscribed = client.subscribe(events.inbox.pattern()).await;
        let mut messages = subscribed.map_err(|error| failed(error.to_string(), false))?;
        let (inbox, sender) = (Arc::clone(&events.inbox), client.clone());
        let receiving = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                let Some(late) = inbox.deliver(message) else { continue };
                if let Some(worker) = late.reply.filter(|worker| worker.starts_with(INBOXES)) {
                    drop(sender.publish_with_headers(worker, Control::Cancel.headers(), "".into()).await);
                }
            }
        });
        Ok(Connection { client, servers: Vec::new(), is_replaced, receiving })
    }

    /// Another one takes its place, before it ends.
    pub(super) fn replaced(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
    }

    /// Opens one that ends when it is lost, instead of reconnecting by itself. The client has no option for that, so it gets a server to reconnect to that
    /// does not exist.
    pub(super) async fn open_once(
        options: ConnectOptions,
        address: &Address,
        servers: Vec<ServerAddr>,
        events: &Arc<Events>,
        connect_time: Duration,
    ) -> Result<Connection, NotConnected> {
        let is_open = Arc::new(OnceLock::new());
        let was_open = Arc::clone(&is_open);
        let options =
            options.max_reconnects(servers.len()).reconnect_to_server_callback(move |servers, _| {
                let first = was_open.get().and_then(|()| servers.into_iter().next());
                let to =
                    first.map(|server| ReconnectToServer { addr: server.addr, delay: Some(Duration::ZERO) });
                std::future::ready(to)
            });
        let mut connection = Connection::open(options, address, servers, events, connect_time).await?;
        let lost = |error: &dyn std::fmt::Display| NotConnected {
            text: format!("lost the connection to the NATS server at {}: {error}", address.broker),
            is_permanent: false,
        };
        // Those of the URL, and others of their cluster.
        let known = connection.client.server_pool().await.map_err(|error| lost(&error))?;
        let _ = is_open.set(());
        connection.client.set_server_pool(NOWHERE).await.map_err(|error| lost(&error))?;
        connection.servers = known.into_iter().map(|server| server.addr).collect();
        Ok(connection)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

/// How long to wait before an attempt to connect. The first is made at once.
pub(super) fn pause(attempt: usize) -> Duration {
    let failed = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    LONGEST_PAUSE.min(Duration::from_millis(20) * failed.min(100))
}

/// What happens to the connections of a link.
pub(super) struct Events {
    pub(super) inbox: Arc<Inbox>,
    /// When it reconnected, if it did.
    pub(super) reconnected: watch::Sender<Option<Instant>>,
    /// Why the broker refused a subscription of this connection, if it did.
    refusal: Mutex<Option<String>>,
    /// Set when it was connected for the first time.
    connected: OnceLock<()>,
    broker: String,
}

impl Events {
    pub(super) fn new(inbox: Arc<Inbox>, broker: String) -> Arc<Events> {
        let (refusal, connected) = (Mutex::default(), OnceLock::new());
        Arc::new(Events { inbox, reconnected: watch::Sender::new(None), refusal, connected, broker })
    }

    /// Why the broker refused a subscription, if it did. Forgets it: another connection may be allowed more.
    pub(super) fn take_refusal(&self) -> Option<String> {
        self.refusal().take()
    }

    fn refusal(&self) -> MutexGuard<'_, Option<String>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
            *self.refusal() = Some(why);
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
