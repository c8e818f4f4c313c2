//! Connecting: which era the server belongs to, and the handshake of the older one (MCP-X-01, MCP-L-01).

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::reconnect::{Backoff, ReconnectOptions, ReconnectingPeer};
use switchboard_core::{Call, CallError, Code, Context, ErrorObject, Json, Outcome, Peer, Service, Settings};
use switchboard_transport::Dial;

use super::http::Link;
use super::listener::{Listener, Listening, has_changes, subscription};
use super::{Agreed, Claim, Client, implementation, request};
use crate::ask::Caller;
use crate::model::{DiscoverResult, InitializeResult, Revision, Wire as _, error, methods};
use crate::object::Object;
use crate::server::Server;
use crate::spoken::Features;

/// How long a server may take to answer the question that servers of the older era do not know.
const PROBE: Duration = Duration::from_secs(5);

/// How long the handshake may take: programs such as package runners may have to download the server first.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(60);

type Connect = dyn Fn(Arc<dyn Service>) -> Connecting + Send + Sync;
type Connecting = Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>;

impl Client {
    /// Connects to the server at this URL: `http://127.0.0.1:8000/mcp`, or `exec:COMMAND` for a program that speaks MCP over its
    /// standard input and output. Every duplex transport works.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not speak MCP.
    pub async fn connect(url: &str) -> Result<Client, CallError> {
        Client::dial(Dial::new(url)?).await
    }

    /// Connects in this way. The profile of the settings is that of MCP.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Client::connect).
    pub async fn dial(dial: Dial) -> Result<Client, CallError> {
        Connector::default().dial(dial).await
    }

    /// Connects over a duplex transport, with [MCP's profile](Server::profile). The function connects; the server calls the service
    /// that it gets. It is called again when the connection breaks.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Client::connect).
    pub async fn over<F, R, E>(connect: F) -> Result<Client, CallError>
    where
        F: Fn(Arc<dyn Service>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        Connector::default().over(connect).await
    }
}

/// Connects to MCP servers: for many callers by default, or for the one client that a call belongs to.
#[derive(Clone, Default)]
pub struct Connector {
    owner: Option<Caller>,
}

impl Connector {
    /// Connects for the session of this call: what the server asks or logs outside of calls goes to the client of the session, if it is
    /// one of MCP that began with `initialize`.
    #[must_use]
    pub fn for_session_of(cx: &Context) -> Connector {
        Connector { owner: Caller::of_session(cx) }
    }

    /// Says which log messages the owner wants.
    async fn begun(&self, client: Client) -> Client {
        if let Some(level) = self.owner.as_ref().and_then(Caller::log_level) {
            client.set_level(level).await;
        }
        client
    }

    fn listening(&self) -> Arc<Listening> {
        Arc::new(Listening::of(self.owner.clone()))
    }

    /// Connects in this way. The profile of the settings is that of MCP.
    ///
    /// # Errors
    ///
    /// As for [`Client::connect`].
    pub async fn dial(&self, dial: Dial) -> Result<Client, CallError> {
        if matches!(dial.url().scheme(), "http" | "https") {
            return self.over_http(dial).await;
        }
        let dial = dial.with_settings(Settings::default().with_profile(Server::profile()));
        self.over(move |service| dial.clone().with_service(service).connect()).await
    }

    /// Connects over a duplex transport, with [MCP's profile](Server::profile). The function connects; the server calls the service
    /// that it gets. It is called again when the connection breaks.
    ///
    /// # Errors
    ///
    /// As for [`Client::connect`].
    pub async fn over<F, R, E>(&self, connect: F) -> Result<Client, CallError>
    where
        F: Fn(Arc<dyn Service>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        let connect: Arc<Connect> = Arc::new(move |service| {
            let connecting = connect(service);
            Box::pin(async { connecting.await.map_err(Into::into) })
        });
        let listening = self.listening();
        let service: Arc<dyn Service> = Arc::new(Listener::new(&listening));
        let (peer, agreed) = negotiate(&*connect, &service).await?;
        let agreed = Arc::new(agreed);
        listening.know(&agreed);
        listening.begin(&peer, &agreed);
        let first = Arc::new(Mutex::new(Some(peer)));
        let (again, weak) = (Arc::clone(&agreed), Arc::downgrade(&listening));
        let connect = move || {
            let known = first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (agreed, listening) = (Arc::clone(&again), weak.clone());
            let (connect, service) = (Arc::clone(&connect), Arc::clone(&service));
            async move {
                if let Some(peer) = known {
                    return Ok::<_, CallError>(peer);
                }
                let peer = connect(service).await?;
                if !agreed.revision.is_stateless() {
                    initialize(&peer).await?;
                    peer.notify(methods::INITIALIZED, ()).await?;
                }
                if let Some(listening) = listening.upgrade() {
                    listening.begin(&peer, &agreed);
                    // It may be another version of the server. Its lists are read over the connection that is being made here.
                    tokio::spawn(async move { listening.change().await });
                }
                Ok(peer)
            }
        };
        // Each call tries once: its caller knows best whether to wait for a server that is not there.
        let options = ReconnectOptions::default()
            .with_on_demand(true)
            .with_connect_time(HANDSHAKE)
            .with_connect_wait(HANDSHAKE)
            .with_backoff(Backoff::default().with_attempts(Some(1)));
        let peer = ReconnectingPeer::with_options(connect, options).peer();
        Ok(self.begun(Client { peer, agreed, listening }).await)
    }

    async fn over_http(&self, dial: Dial) -> Result<Client, CallError> {
        let listening = self.listening();
        let link = Link::new(dial.client()?, Listener::new(&listening));
        let peer = Peer::new(link.clone());
        let agreed = match probe(&peer).await {
            Probe::Modern(agreed) => *agreed,
            // MCP-X-02: an older server may refuse the request without a message.
            Probe::Old | Probe::Lost(CallError::Transport(_)) => initialize(&peer).await?,
            Probe::Lost(error) => return Err(error),
        };
        link.speak(agreed.revision);
        listening.know(&agreed);
        if !agreed.revision.is_stateless() {
            peer.notify(methods::INITIALIZED, ()).await?;
        }
        if has_changes(&agreed) {
            listening.run(link.listen(subscription(&agreed)));
        }
        Ok(self.begun(Client { peer, agreed: Arc::new(agreed), listening }).await)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("owner", &self.owner).finish()
    }
}

/// Finds out how to talk to a server. One that exits when it gets a method that it does not know is started again.
async fn negotiate(connect: &Connect, service: &Arc<dyn Service>) -> Result<(Peer, Agreed), CallError> {
    let peer = connect(Arc::clone(service)).await?;
    let peer = match probe(&peer).await {
        Probe::Modern(agreed) => return Ok((peer, *agreed)),
        Probe::Old => peer,
        Probe::Lost(_) => connect(Arc::clone(service)).await?,
    };
    let agreed = initialize(&peer).await?;
    peer.notify(methods::INITIALIZED, ()).await?;
    Ok((peer, agreed))
}

enum Probe {
    Modern(Box<Agreed>),
    /// It has to be initialized.
    Old,
    /// It cannot be reached any more.
    Lost(CallError),
}

/// Asks for the versions of a server. Whatever a server of the older era answers, it is not this.
async fn probe(peer: &Peer) -> Probe {
    let revision = Revision::LATEST;
    let call = match request(methods::DISCOVER, Object::new(), revision, Claim::default()) {
        Ok(call) => call,
        Err(error) => return Probe::Lost(error.into()),
    };
    let told = match tokio::time::timeout(PROBE, Service::call(peer, &call)).await {
        Ok(reply) => reply.outcome,
        Err(_) => return Probe::Old,
    };
    match told {
        Outcome::Value(json) => match json.decode::<DiscoverResult>() {
            Ok(told) if told.supported_versions.iter().any(|version| version == revision.as_str()) => {
                let server = told.server_info();
                let DiscoverResult { capabilities, instructions, .. } = told;
                Probe::Modern(Box::new(Agreed { revision, capabilities, server, instructions }))
            }
            _ => Probe::Old,
        },
        Outcome::Error(error) => match CallError::from(error) {
            CallError::Rejected(_) | CallError::TimedOut | CallError::Protocol(_) => Probe::Old,
            lost => Probe::Lost(lost),
        },
        Outcome::Stream(_) => Probe::Old,
    }
}

/// The request that begins a session.
pub(super) fn initialization() -> Result<Call, ErrorObject> {
    let revision = Revision::LATEST_STATEFUL;
    let params = Object::new()
        .with("protocolVersion", revision.as_str())
        .with("capabilities", Features::to_relay().capabilities().to_json(revision))
        .with("clientInfo", implementation().to_json(revision));
    Ok(Call::new(methods::INITIALIZE, Some(params.json()?)))
}

/// Begins a session.
async fn initialize(peer: &Peer) -> Result<Agreed, CallError> {
    let call = initialization()?.with_context(Context::default());
    let reply = tokio::time::timeout(HANDSHAKE, Service::call(peer, &call)).await;
    let told: Json = match reply.map_err(|_| CallError::TimedOut)?.outcome {
        Outcome::Value(json) => json,
        Outcome::Error(error) if error.code == Code::METHOD_NOT_FOUND => {
            return Err(CallError::Unsupported("the server does not speak MCP: it has no initialize".into()));
        }
        Outcome::Error(error) if error.code == error::UNSUPPORTED_VERSION => {
            return Err(CallError::Unsupported("the server speaks only other revisions of MCP".into()));
        }
        Outcome::Error(error) => return Err(error.into()),
        Outcome::Stream(_) => return Err(CallError::Protocol("initialize has no stream".into())),
    };
    let told: InitializeResult = told.decode().map_err(|error| {
        CallError::Protocol(
            format!("the server does not speak MCP: its answer to initialize: {error}").into(),
        )
    })?;
    let revision: Option<Revision> = told.protocol_version.parse().ok();
    let revision = revision.filter(|revision| !revision.is_stateless()).ok_or_else(|| {
        let version = told.protocol_version.chars().take(32).collect::<String>();
        CallError::Unsupported(format!("the server speaks MCP {version}, which is not supported").into())
    })?;
    let InitializeResult { capabilities, server_info, instructions, .. } = told;
    Ok(Agreed { revision, capabilities, server: Some(server_info), instructions })
}
