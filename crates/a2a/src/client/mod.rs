//! The client: finds an agent by its card, sends messages and follows tasks.

mod connect;
mod events;
mod push;
mod remote;
mod trust;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_core::{CallError, Context, Json, Peer};
use switchboard_transport::http::HttpClientOptions;

pub use self::connect::ClientError;
pub use self::events::Events;
pub use self::push::PushRoute;
pub use self::remote::Remote;
pub use self::trust::CardTrust;
use crate::model::methods::Method;
use crate::model::{
    AgentCard, GetPush, GetTask, ListPush, ListTasks, PushConfig, PushPage, SendMessage, StreamEvent, Task,
    TaskPage, Version,
};

/// A client of one agent. Cheap to clone.
///
/// # Examples
///
/// ```no_run
/// use switchboard_a2a::Client;
/// use switchboard_a2a::model::{Message, SendMessage};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Client::connect("http://127.0.0.1:8000").await?;
/// let answer = agent.send(SendMessage::new(Message::user("What is 2 + 3?"))).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    card: Arc<AgentCard>,
    remote: Remote,
    peer: Peer,
    resume_time: Duration,
    trust: Option<CardTrust>,
}

/// The options of a [`Client`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The options of its connections. Headers with credentials are sent to the agent only if it is served where its card is. With `addresses`, only
    /// its interfaces over HTTP are used, because other transports do not check addresses.
    pub http: HttpClientOptions,
    /// How long an answer may take: 10 minutes by default, because agents think. Streams may last longer.
    pub time: Duration,
    /// The extensions that it understands.
    pub extensions: Vec<String>,
    /// For how long it tries to resume a stream that was cut off: 2 minutes by default. With zero, the stream fails immediately.
    pub resume_time: Duration,
    /// Whose cards it accepts: all by default.
    pub trust: Option<CardTrust>,
    /// The NATS servers that a card may name: none by default, because they get the credentials for NATS of this process.
    pub brokers: Vec<String>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            http: HttpClientOptions::default(),
            time: Duration::from_secs(600),
            extensions: Vec::new(),
            resume_time: Duration::from_secs(120),
            trust: None,
            brokers: Vec::new(),
        }
    }
}

impl ClientOptions {
    /// Sets [`http`](ClientOptions::http).
    #[must_use]
    pub fn with_http(self, http: HttpClientOptions) -> ClientOptions {
        ClientOptions { http, ..self }
    }

    /// Sets [`time`](ClientOptions::time).
    #[must_use]
    pub fn with_time(self, time: Duration) -> ClientOptions {
        ClientOptions { time, ..self }
    }

    /// Adds an extension that it understands.
    #[must_use]
    pub fn with_extension(mut self, uri: impl Into<String>) -> ClientOptions {
        self.extensions.push(uri.into());
        self
    }

    /// Sets [`resume_time`](ClientOptions::resume_time).
    #[must_use]
    pub fn with_resume_time(self, resume_time: Duration) -> ClientOptions {
        ClientOptions { resume_time, ..self }
    }

    /// Sets [`trust`](ClientOptions::trust).
    #[must_use]
    pub fn with_trust(self, trust: Option<CardTrust>) -> ClientOptions {
        ClientOptions { trust, ..self }
    }

    /// Sets [`brokers`](ClientOptions::brokers): URLs such as `nats://host:4222`. With `nats+tls`, a card may name the server with TLS only.
    #[must_use]
    pub fn with_brokers<T: Into<String>>(self, brokers: impl IntoIterator<Item = T>) -> ClientOptions {
        ClientOptions { brokers: brokers.into_iter().map(Into::into).collect(), ..self }
    }
}

impl Client {
    /// A client of the agent with its card at this URL, or at the well-known path below it.
    ///
    /// # Errors
    ///
    /// When there is no card, or no interface that this client speaks.
    pub async fn connect(url: &str) -> Result<Client, ClientError> {
        Client::with_options(url, ClientOptions::default()).await
    }

    /// The same with these options.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Client::connect).
    pub async fn with_options(url: &str, options: ClientOptions) -> Result<Client, ClientError> {
        let (card, card_url) = connect::card(url, &options).await?;
        let remote = connect::remote(&card, &card_url, &options)?;
        let peer = Peer::local(remote.clone()).with_timeout(options.time);
        let card = Arc::new(card);
        Ok(Client(Arc::new(Inner {
            card,
            remote,
            peer,
            resume_time: options.resume_time,
            trust: options.trust,
        })))
    }

    /// The same client for calls that are made while handling a call: they belong to its trace, and end with its deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use switchboard_a2a::model::{Message, SendMessage, StreamEvent};
    /// # use switchboard_a2a::{Client, TaskHandle};
    /// # use switchboard_core::CallError;
    /// async fn pass_on(message: Message, task: TaskHandle, other: Client) -> Result<StreamEvent, CallError> {
    ///     other.within(task.context()).send(SendMessage::new(Message::user(message.text()))).await
    /// }
    /// ```
    #[must_use]
    pub fn within(&self, cx: &Context) -> Client {
        let Inner { card, remote, peer, resume_time, trust } = &*self.0;
        let (card, remote, peer) = (Arc::clone(card), remote.clone(), peer.within(cx));
        Client(Arc::new(Inner { card, remote, peer, resume_time: *resume_time, trust: trust.clone() }))
    }

    /// The card of the agent.
    #[must_use]
    pub fn card(&self) -> &AgentCard {
        &self.0.card
    }

    /// The agent as a service, which answers the methods of 1.0 whichever version it speaks.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.0.remote
    }

    /// The version that is spoken.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.remote.version()
    }

    /// Sends a message, and waits until the work on it has ended, unless it says otherwise.
    ///
    /// # Errors
    ///
    /// When the agent refuses it or cannot be reached.
    pub async fn send(&self, request: SendMessage) -> Result<StreamEvent, CallError> {
        self.call(Method::Send, &request).await
    }

    /// Sends a message, and follows the work on it. If the connection breaks, it is resumed.
    ///
    /// # Errors
    ///
    /// When the agent refuses it or cannot be reached.
    pub async fn stream(&self, request: SendMessage) -> Result<Events, CallError> {
        if self.0.card.capabilities.streaming != Some(true) {
            return Ok(Events::of(self.send(request).await?));
        }
        Events::begin(self, Method::Stream, &request).await
    }

    /// Follows a task from here on.
    ///
    /// # Errors
    ///
    /// When the task has ended, does not exist, or the agent cannot be reached.
    pub async fn subscribe(&self, id: &str) -> Result<Events, CallError> {
        Events::begin(self, Method::Subscribe, &GetTask::new(id)).await
    }

    /// A task as it is.
    ///
    /// # Errors
    ///
    /// When it does not exist, or the agent cannot be reached.
    pub async fn get(&self, id: &str) -> Result<Task, CallError> {
        self.call(Method::Get, &GetTask::new(id)).await
    }

    /// A page of the tasks of this client. Agents of 0.3 have no lists.
    ///
    /// # Errors
    ///
    /// When the agent refuses it or cannot be reached.
    pub async fn list(&self, request: &ListTasks) -> Result<TaskPage, CallError> {
        self.call(Method::List, request).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    ///
    /// When it has ended, does not exist, or the agent cannot be reached.
    pub async fn cancel(&self, id: &str) -> Result<Task, CallError> {
        self.call(Method::Cancel, &GetTask::new(id)).await
    }

    /// Adds a place for notifications about a task, or replaces the one with its identifier.
    ///
    /// # Errors
    ///
    /// When the agent sends none, refuses the place, or cannot be reached.
    pub async fn create_push(&self, config: &PushConfig) -> Result<PushConfig, CallError> {
        self.call(Method::CreatePush, config).await
    }

    /// A place for notifications about a task.
    ///
    /// # Errors
    ///
    /// When it does not exist, or the agent cannot be reached.
    pub async fn push(&self, task: &str, id: &str) -> Result<PushConfig, CallError> {
        self.call(Method::GetPush, &GetPush::new(task, id)).await
    }

    /// The places for notifications about a task.
    ///
    /// # Errors
    ///
    /// When the task does not exist, or the agent cannot be reached.
    pub async fn list_push(&self, request: &ListPush) -> Result<PushPage, CallError> {
        self.call(Method::ListPush, request).await
    }

    /// Removes a place for notifications about a task, if it exists.
    ///
    /// # Errors
    ///
    /// When the task does not exist, or the agent cannot be reached.
    pub async fn delete_push(&self, task: &str, id: &str) -> Result<(), CallError> {
        self.call::<serde::de::IgnoredAny>(Method::DeletePush, &GetPush::new(task, id)).await.map(drop)
    }

    /// The card for authenticated clients.
    ///
    /// # Errors
    ///
    /// When there is none, or the agent refuses it or cannot be reached.
    pub async fn extended_card(&self) -> Result<AgentCard, CallError> {
        let card: Value = self.call(Method::ExtendedCard, &serde_json::Map::new()).await?;
        if let Some(trust) = &self.0.trust
            && let Some(why) = trust.refusal(&card).await
        {
            return Err(CallError::Protocol(format!("the extended card is not accepted: {why}").into()));
        }
        serde_json::from_value(card).map_err(|error| CallError::Protocol(error.to_string().into()))
    }

    async fn call<T: DeserializeOwned + 'static>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<T, CallError> {
        self.0.peer.call(name(method), encoded(params)?).await
    }
}

/// A method as this client names it.
fn name(method: Method) -> &'static str {
    method.name(Version::V1_0).unwrap_or_default()
}

fn encoded(params: &impl Serialize) -> Result<Json, CallError> {
    Json::encode_ref(params).map_err(|error| CallError::Params(error.to_string().into()))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { card, remote, .. } = &*self.0;
        f.debug_struct("Client").field("name", &card.name).field("remote", remote).finish_non_exhaustive()
    }
}
