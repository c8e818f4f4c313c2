//! The server: the methods of A2A in front of a method that answers messages.

mod details;
mod following;
mod handle;
mod index;
mod method;
mod options;
mod outcome;
mod owner;
mod push;
mod records;
mod send;
mod service;
mod shared;
mod spoken;
mod stream;
mod tasks;
mod tenants;
mod turn;

use std::fmt;
use std::sync::Arc;

use switchboard_core::{Call, Context, IntoError, Json, Name, Profile, Router, Service, Settings};
use switchboard_layers::Clock;
use switchboard_layers::identity::jwt::SigningKey;
use switchboard_layers::store::{MemoryStore, Store};

pub use self::details::RequestDetails;
pub use self::handle::{Ended, TaskHandle};
pub use self::method::agent_method;
pub use self::options::AgentOptions;
pub use self::outcome::Outcome;
pub use self::push::PushOptions;
pub(crate) use self::shared::Shared;
pub(crate) use self::spoken::{Activated, EXTENSION, Spoken, VERSION};
pub use self::tenants::Tenants;
use crate::http::CardSigner;
use crate::model::{AgentCard, Message};

/// An agent: its card, and what answers its messages.
///
/// # Examples
///
/// ```
/// use switchboard_a2a::model::{AgentCard, AgentSkill, Artifact, Message};
/// use switchboard_a2a::{A2aRoute, Agent, CardRoute, Outcome, TaskHandle};
/// use switchboard_core::ErrorObject;
/// use switchboard_transport::http::EndpointOptions;
///
/// async fn shout(message: Message, task: TaskHandle) -> Result<Outcome, ErrorObject> {
///     if message.text().is_empty() {
///         return Ok(Outcome::input_required("What shall I shout?"));
///     }
///     task.working("taking a breath").await?;
///     task.artifact(Artifact::text("shout", message.text().to_uppercase())).await?;
///     Ok(Outcome::completed())
/// }
///
/// let card = AgentCard::new("Shouter", "Says it louder.", "1.0.0")
///     .skill(AgentSkill::new("shout", "Shout", "Turns text into capitals."));
/// let server = Agent::new(card, shout).build();
/// let options = EndpointOptions::default()
///     .route("/a2a", A2aRoute::new(&server))
///     .route(CardRoute::PATH, CardRoute::new(&server, "/a2a"));
/// ```
#[must_use = "it does nothing until it is built"]
pub struct Agent {
    card: AgentCard,
    extended: Option<AgentCard>,
    service: Arc<dyn Service>,
    method: Name,
    store: Arc<dyn Store>,
    clock: Clock,
    options: AgentOptions,
    push: Option<PushOptions>,
    key: Option<SigningKey>,
    key_url: Option<String>,
    origin: Option<String>,
}

/// An agent that answers the methods of A2A. Cheap to clone; all clones are the same agent.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

impl Agent {
    /// An agent whose messages this function answers. The function gets each message, and a handle of its task; it returns an
    /// [`Outcome`], or anything that becomes one: `()`, a text or a [`Message`].
    pub fn new<F, R, T, E>(card: AgentCard, function: F) -> Agent
    where
        F: Fn(Message, TaskHandle) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<Outcome> + 'static,
        E: IntoError + 'static,
    {
        const NAME: &str = "agent/answer";
        let router = Router::builder().add(agent_method(NAME, function)).build();
        Agent::of(card, router.expect("one method with a valid name is a router"), NAME)
    }

    /// An agent whose messages a method of this service answers, with layers or without: one made by [`agent_method`].
    pub fn of(card: AgentCard, service: impl Service, method: impl Into<Name>) -> Agent {
        Agent {
            card,
            extended: None,
            service: Arc::new(service),
            method: method.into(),
            store: Arc::new(MemoryStore::default()),
            clock: Clock::system(),
            options: AgentOptions::default(),
            push: None,
            key: None,
            key_url: None,
            origin: None,
        }
    }

    /// Shows this card to authenticated clients (A2A-C-05).
    pub fn with_extended_card(self, card: AgentCard) -> Agent {
        Agent { extended: Some(card), ..self }
    }

    /// Keeps tasks in this store: by default in memory. With one that survives the process, tasks go on after a restart.
    pub fn with_store(self, store: impl Store) -> Agent {
        Agent { store: Arc::new(store), ..self }
    }

    /// Tells the time by this clock.
    pub fn with_clock(self, clock: Clock) -> Agent {
        Agent { clock, ..self }
    }

    /// Replaces the options.
    pub fn with_options(self, options: AgentOptions) -> Agent {
        Agent { options, ..self }
    }

    /// Sends notifications about tasks to the URLs that clients name: signed, if there is a [key](Agent::with_signing_key).
    pub fn with_push(self, options: PushOptions) -> Agent {
        Agent { push: Some(options), ..self }
    }

    /// Says where clients reach the agent: at `https://agent.example.com`, for example. A card without interfaces names this origin instead of the one
    /// that the request was sent to.
    pub fn with_origin(self, origin: impl Into<String>) -> Agent {
        Agent { origin: Some(origin.into().trim_end_matches('/').to_owned()), ..self }
    }

    /// Signs notifications with this key, and the card, if it has interfaces or the agent has an [origin](Agent::with_origin): what a request says
    /// about that is not signed.
    pub fn with_signing_key(self, key: SigningKey) -> Agent {
        Agent { key: Some(key), ..self }
    }

    /// Says in signatures of the card that its public key is at this URL (`jku`), in a JWKS document.
    pub fn with_key_url(self, url: impl Into<String>) -> Agent {
        Agent { key_url: Some(url.into()), ..self }
    }

    /// The agent, ready to serve.
    #[must_use]
    pub fn build(self) -> Server {
        let Agent { mut card, extended, service, method, store, clock, options, push, key, key_url, origin } =
            self;
        card.capabilities.streaming = Some(options.streaming);
        card.capabilities.push_notifications = Some(push.is_some());
        card.capabilities.extended_agent_card.get_or_insert(extended.is_some());
        let records = records::Records::new(store, clock, &options);
        let mut shared = Shared::new(card, extended, service, method, records, options);
        shared.signer = key.clone().map(|key| CardSigner::new(key, key_url));
        shared.origin = origin;
        shared.pusher = push.map(|push| push::Pusher::new(push, key));
        Server(Arc::new(shared))
    }
}

impl Server {
    /// The service that answers the methods of A2A. Its calls have their version in the metadata `a2a-version`. Over WebSocket and NATS, serve it with
    /// the [`connection_profile`](Server::connection_profile).
    #[must_use]
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::new(service::A2aService(Arc::clone(&self.0)))
    }

    /// The dialect: 2.0 only, and no batches (A2A-B-07).
    #[must_use]
    pub fn profile() -> Profile {
        Profile::default()
            .with_versions(switchboard_core::Versions::V2)
            .with_batches(false)
            .with_call_options(false)
    }

    /// The dialect of the service over connections that have no headers, such as those of WebSocket: messages name the version and extensions in their
    /// metadata.
    #[must_use]
    pub fn connection_profile() -> Profile {
        let names = [VERSION, EXTENSION, "traceparent", "tracestate", "baggage"];
        Server::profile().with_call_options(true).with_metadata(names.into_iter().collect())
    }

    /// How many tasks are being worked on.
    #[must_use]
    pub fn working(&self) -> usize {
        self.0.live().len()
    }

    /// The card, without the places where the agent is served.
    #[must_use]
    pub fn card(&self) -> &AgentCard {
        &self.0.card
    }

    pub(crate) fn settings(settings: Settings) -> Settings {
        settings.with_admission(None).with_profile(Server::profile())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.card.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.0.card.name).finish_non_exhaustive()
    }
}

/// The call of the method behind an agent.
pub(crate) fn inner_call(method: &Name, params: Json, cx: Context) -> Call {
    Call::new(method.clone(), Some(params)).with_context(cx)
}
