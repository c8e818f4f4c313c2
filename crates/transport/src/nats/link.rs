//! The connection to a broker, and the inbox of what arrives over it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_nats::client::traits::Publisher as _;
use async_nats::connection::State;
use async_nats::{
    Client, ConnectOptions, Message, ServerAddr, Subject, client::PublishErrorKind, message::OutboundMessage,
};
use futures_util::FutureExt as _;
use switchboard_core::{CallError, ErrorObject};
use tokio::sync::watch;
use tokio::time::Instant;

use super::address::Address;
use super::auth;
use super::connection::{Connection, Events};
use super::inbox::Inbox;
use super::token::Tokens;

/// How long the broker may take to return a message.
const ROUND_TRIP: Duration = Duration::from_secs(5);

/// How long a refusal of the broker may take from its connection to us.
const REFUSAL: Duration = Duration::from_millis(50);

/// How long an answer waits until its worker has reconnected. After that its caller has given the worker up.
const LATEST: Duration = Duration::from_secs(10);

/// A connection to a broker, which is made again when it is lost.
pub(super) struct Link {
    connection: ArcSwap<Connection>,
    pub(super) address: Address,
    pub(super) inbox: Arc<Inbox>,
    events: Arc<Events>,
    /// Whether its owner makes the connection again. Otherwise the client does.
    is_renewed: bool,
}

/// Why connecting failed, and whether another attempt would fail as well.
pub(super) struct NotConnected {
    pub(super) text: String,
    pub(super) is_permanent: bool,
}

impl Link {
    /// Connects, and subscribes to the inbox. It reconnects by itself, until it is dropped.
    pub(super) async fn open(address: Address, connect_time: Duration) -> Result<Arc<Link>, NotConnected> {
        let (options, user) = credentials()?;
        let inbox = Inbox::new(inbox_prefix(user.as_deref()));
        let events = Events::new(Arc::clone(&inbox), address.broker.clone());
        let servers = servers(&address)?;
        let connection = Connection::open(options, &address, servers, &events, connect_time).await?;
        let connection = ArcSwap::from_pointee(connection);
        Ok(Arc::new(Link { connection, address, inbox, events, is_renewed: false }))
    }

    /// Connects, and subscribes to the inbox. When the connection is lost its subscriptions end, and [`renew`](Link::renew) makes another one: so
    /// the messages that one of them has received are those that the broker has sent over this connection.
    pub(super) async fn open_renewed(
        address: Address,
        connect_time: Duration,
    ) -> Result<Arc<Link>, NotConnected> {
        let (options, user) = credentials()?;
        let inbox = Inbox::new(inbox_prefix(user.as_deref()));
        let events = Events::new(Arc::clone(&inbox), address.broker.clone());
        let servers = servers(&address)?;
        let connection = Connection::open_once(options, &address, servers, &events, connect_time).await?;
        let connection = ArcSwap::from_pointee(connection);
        Ok(Arc::new(Link { connection, address, inbox, events, is_renewed: true }))
    }

    /// Connects again, with the same inbox.
    pub(super) async fn renew(&self, connect_time: Duration) -> Result<(), NotConnected> {
        // What the environment names may have changed.
        let (options, _) = credentials()?;
        let servers = self.connection.load().servers.clone();
        self.events.take_refusal();
        let connection =
            Connection::open_once(options, &self.address, servers, &self.events, connect_time).await?;
        self.connection.swap(Arc::new(connection)).replaced();
        self.events.reconnected.send_replace(Some(Instant::now()));
        Ok(())
    }

    /// The client of the broker, as it is connected now.
    pub(super) fn client(&self) -> Client {
        self.connection.load().client.clone()
    }

    /// Fails while disconnected: the client would queue the message and send it too late.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match self.connection.load().client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => {
                let text = format!("not connected to the NATS server at {}", self.address.broker);
                Err(CallError::Unreachable(text.into()))
            }
        }
    }

    /// Waits until it is connected, or until this time.
    pub(super) async fn connected(&self, until: Instant) {
        let mut reconnects = self.reconnects();
        while self.check().is_err() {
            if tokio::time::timeout_at(until, reconnects.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Changes with each reconnect.
    pub(super) fn reconnects(&self) -> watch::Receiver<Option<Instant>> {
        self.events.reconnected.subscribe()
    }

    /// Queues a message, if there is room now. Gives it back otherwise.
    pub(super) fn try_publish(
        &self,
        message: OutboundMessage,
    ) -> Result<Result<(), ErrorObject>, Box<OutboundMessage>> {
        let size = message.payload.len();
        match self.connection.load().client.publish_message(message.clone()).now_or_never() {
            Some(Err(error)) if self.is_renewed && error.kind() == PublishErrorKind::Send => {
                Err(Box::new(message))
            }
            Some(sent) => Ok(sent.map_err(|error| self.unsent(&error, size))),
            None => Err(Box::new(message)),
        }
    }

    /// Queues a message as soon as there is room.
    pub(super) async fn publish(&self, message: OutboundMessage) -> Result<(), ErrorObject> {
        let size = message.payload.len();
        if self.is_renewed && self.check().is_err() {
            self.connected(Instant::now() + LATEST).await;
        }
        let connection = self.connection.load_full();
        connection.client.publish_message(message).await.map_err(|error| self.unsent(&error, size))
    }

    /// Waits until the broker has accepted the subscriptions. What it says about the first message is known when the second is back.
    pub(super) async fn ready(&self) -> Result<(), String> {
        self.confirm("".into()).await.map_err(|error| error.to_string())?;
        // On a busy machine the refusal may take a little longer, and a worker that hears nothing must not start.
        tokio::time::sleep(REFUSAL).await;
        self.events.take_refusal().map_or(Ok(()), Err)
    }

    /// Waits until the broker has seen everything that was sent before. An error if it refused something about this subject.
    pub(super) async fn confirm(&self, subject: Subject) -> Result<(), CallError> {
        let opened = self.inbox.open("", subject);
        // Errors of the broker take another way than messages, so one message is not enough.
        for _ in 0..2 {
            let sent = self.client().publish(opened.subject.clone(), "".into()).await;
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
            let limit = self.client().max_payload();
            let text = format!(
                "a message of {size} bytes exceeds the broker's limit of {limit} bytes (max_payload)"
            );
            return ErrorObject::over_limit("max_payload", text);
        }
        CallError::Unreachable(format!("cannot send to {}: {error}", self.address.broker).into()).into()
    }
}

/// Options with the credentials of the environment, and their user.
fn credentials() -> Result<(ConnectOptions, Option<String>), NotConnected> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    auth::from_environment(variable).map_err(permanent)
}

fn servers(address: &Address) -> Result<Vec<ServerAddr>, NotConnected> {
    let scheme = if address.is_secure { "tls" } else { "nats" };
    let server = format!("{scheme}://{}", address.broker).parse();
    server.map(|server| vec![server]).map_err(|error: std::io::Error| permanent(error.to_string()))
}

fn permanent(text: String) -> NotConnected {
    NotConnected { text, is_permanent: true }
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
