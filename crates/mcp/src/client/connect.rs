//! Connecting: which era the server belongs to, and the handshake of the older one (MCP-X-01, MCP-X-02, MCP-L-01).

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::reconnect::{Backoff, ReconnectOptions, ReconnectingPeer};
use switchboard_core::{
    Call, CallError, Code, Context, Json, Limits, Outcome, Peer, Reply, Service, Settings,
};
use switchboard_transport::Dial;
use tokio::sync::oneshot;

use super::about::{About, Claim};
use super::clock::Clock;
use super::http::Link;
use super::listener::{Host, Listener, Listening, has_changes, subscription};
use super::{Agreed, Client, Credentials, Shared, TIMEOUT, old_sse};
use crate::ask::Caller;
use crate::model::{DiscoverResult, InitializeResult, Revision, error, methods};
use crate::object::Object;
use crate::server::Server;

/// How long a server may take to answer the question that servers of the older era do not know.
const PROBE: Duration = Duration::from_secs(5);

/// How long the handshake may take: programs such as package runners may have to download the server first.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(60);

/// How long the stream of messages that belong to no request may take to open.
const OPENING: Duration = Duration::from_secs(1);

/// The most bytes of an answer, unless the settings say something else: images and files are long.
const LARGEST: usize = 64 << 20;

/// The settings of connections for which nothing else is said.
pub(super) fn settings() -> Settings {
    Settings::default().with_limits(Limits::default().with_reply(LARGEST))
}

type Connect = dyn Fn(Arc<dyn Service>) -> Connecting + Send + Sync;
type Connecting = Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>;

/// Connects [adapters](crate::adapt) to MCP servers: for many callers by default, or for the one client that a call belongs to.
///
/// Questions of the server are passed on to them. Other programs use [`Client::builder`].
#[derive(Clone, Debug)]
pub struct Connector {
    pub(super) host: Host,
    pub(super) about: About,
    pub(super) timeout: Duration,
    /// The revision to speak, if it is not to be found out.
    pub(super) revision: Option<Revision>,
    pub(super) credentials: Option<Arc<dyn Credentials>>,
}

impl Default for Connector {
    fn default() -> Connector {
        Connector::of(Host::Callers, About::relay())
    }
}

impl Connector {
    pub(super) fn of(host: Host, about: About) -> Connector {
        Connector { host, about, timeout: TIMEOUT, revision: None, credentials: None }
    }

    /// Connects for the session of this call: what the server asks or logs outside of calls goes to the client of the session, if it is
    /// one of MCP that began with `initialize`.
    #[must_use]
    pub fn for_session_of(cx: &Context) -> Connector {
        let host = Caller::of_session(cx).map_or(Host::Callers, Host::Owner);
        Connector::of(host, About::relay())
    }

    /// Uses these credentials over HTTP.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> Connector {
        self.credentials = Some(credentials);
        self
    }

    /// Connects to the server at this URL: `http://127.0.0.1:8000/mcp`, or `exec:COMMAND` for a program that speaks MCP over its
    /// standard input and output. Every duplex transport works.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not speak MCP.
    pub async fn connect(&self, url: &str) -> Result<Client, CallError> {
        self.dial(Dial::new(url)?.with_settings(settings())).await
    }

    /// Connects in this way. The settings apply, except for the profile, which is that of MCP.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Connector::connect).
    pub async fn dial(&self, dial: Dial) -> Result<Client, CallError> {
        if matches!(dial.url().scheme(), "http" | "https") {
            return self.over_http(dial).await;
        }
        let settings = dial.settings().clone().with_profile(Server::profile());
        let dial = dial.with_settings(settings);
        self.over(move |service| dial.clone().with_service(service).connect()).await
    }

    /// Connects over a duplex transport, with [MCP's profile](Server::profile). The function connects; the server calls the service
    /// that it gets. It is called again when the connection breaks.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Connector::connect).
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
        self.over_duplex(connect, self.revision).await
    }

    /// Connects over a duplex transport, to a server of this revision if it is known.
    async fn over_duplex(
        &self,
        connect: Arc<Connect>,
        revision: Option<Revision>,
    ) -> Result<Client, CallError> {
        let listening = Arc::new(Listening::of(self.host.clone()));
        let about = Arc::new(self.about.clone());
        let service: Arc<dyn Service> = Arc::new(Listener::new(&listening));
        let (peer, agreed) = negotiate(&*connect, &service, &about, revision).await?;
        listening.know(&agreed);
        let again = Again {
            connect,
            service,
            about: Arc::clone(&about),
            agreed: Arc::new(agreed),
            listening: Arc::downgrade(&listening),
            first: Mutex::new(Some(peer)),
        };
        again.subscribe(&listening);
        let (agreed, again) = (Arc::clone(&again.agreed), Arc::new(again));
        // Each call tries once: its caller knows best whether to wait for a server that is not there.
        let options = ReconnectOptions::default()
            .with_on_demand(true)
            .with_connect_time(HANDSHAKE)
            .with_connect_wait(HANDSHAKE)
            .with_backoff(Backoff::default().with_attempts(Some(1)));
        let connect = move || {
            let again = Arc::clone(&again);
            async move { again.connect().await }
        };
        let peer = ReconnectingPeer::with_options(connect, options).peer();
        let shared = Arc::new(Shared { about, timeout: self.timeout, link: None });
        Ok(self.begun(Client { peer, agreed, shared, listening }).await)
    }

    async fn over_http(&self, dial: Dial) -> Result<Client, CallError> {
        let listening = Arc::new(Listening::of(self.host.clone()));
        let about = Arc::new(self.about.clone());
        let listener = Listener::new(&listening);
        let link = Link::new(&dial, self.credentials.clone(), Arc::clone(&about), listener)?;
        let peer = Peer::new(link.clone());
        let agreed = match self.agree(&peer, &about).await {
            Ok(agreed) => agreed,
            // MCP-SSE-06: the server may know only two paths.
            Err(refused) if link.may_be_old() => {
                let (dial, credentials) = (dial.clone(), self.credentials.clone());
                let connect: Arc<Connect> = Arc::new(move |service| {
                    Box::pin(old_sse::connect(dial.clone(), credentials.clone(), service))
                });
                let old = self.over_duplex(connect, Some(Revision::LATEST_STATEFUL)).await;
                return old.map_err(|_| refused);
            }
            Err(error) => return Err(error),
        };
        link.speak(agreed.revision);
        listening.know(&agreed);
        if !agreed.revision.is_stateless() {
            peer.notify(methods::INITIALIZED, ()).await?;
        }
        let shared = Shared { about, timeout: self.timeout, link: Some(link) };
        let client = Client { peer, agreed: Arc::new(agreed), shared: Arc::new(shared), listening };
        client.listen_from_the_start().await;
        Ok(self.begun(client).await)
    }

    /// Finds out how to talk to a server over HTTP.
    async fn agree(&self, peer: &Peer, about: &About) -> Result<Agreed, CallError> {
        match self.revision {
            Some(revision) if !revision.is_stateless() => return initialize(peer, about, revision).await,
            _ => {}
        }
        match probe(peer, about, self.revision.is_some()).await {
            Probe::Modern(agreed) => Ok(*agreed),
            // MCP-X-02: an older server may refuse the request without a message.
            Probe::Old | Probe::Lost(CallError::Transport(_)) => {
                initialize(peer, about, Revision::LATEST_STATEFUL).await
            }
            Probe::Lost(error) => Err(error),
        }
    }

    /// Says which log messages the owner wants.
    async fn begun(&self, client: Client) -> Client {
        let level = match &self.host {
            Host::Owner(owner) => owner.log_level(),
            Host::Program(_) => self.about.level,
            Host::Callers => None,
        };
        if let Some(level) = level {
            client.set_level(level).await;
        }
        client
    }
}

impl Client {
    /// Listens for what the server sends by itself, if someone certainly wants it.
    async fn listen_from_the_start(&self) {
        match self.listening.host() {
            Host::Program(program) if program.features().can_be_asked() || program.has_log() => {
                self.listen_in_session().await;
            }
            Host::Program(_) => {}
            Host::Callers | Host::Owner(_) if has_changes(&self.agreed) => {
                match subscription(&self.shared.about, &self.agreed) {
                    Some(call) => self.listening.run(ask_again(self.peer.clone(), call)),
                    None => self.listen_in_session().await,
                }
            }
            Host::Callers | Host::Owner(_) => {}
        }
    }

    /// Listens for messages that belong to no request, if the server has sessions over HTTP. Waits until the stream is there: servers drop
    /// what they send before.
    pub(super) async fn listen_in_session(&self) {
        let Some(link) = self.shared.link.as_ref().filter(|_| !self.revision().is_stateless()) else {
            return;
        };
        let (beginning, begun) = oneshot::channel();
        self.listening.run_once(|| tokio::spawn(link.clone().listen(beginning)));
        // Some send the head of the response only with the first event.
        let _ = tokio::time::timeout(OPENING, begun).await;
    }
}

/// Asks for notifications, again and again.
async fn ask_again(peer: Peer, call: Call) {
    let mut delays = Backoff::default().delays();
    loop {
        let since = tokio::time::Instant::now();
        if let Outcome::Error(error) = Service::call(&peer, &call).await.outcome
            && CallError::from(error).is_permanent()
        {
            return;
        }
        if since.elapsed() > Duration::from_secs(30) {
            delays = Backoff::default().delays();
        }
        tokio::time::sleep(delays.next().unwrap_or(HANDSHAKE)).await;
    }
}

/// How a duplex connection is made again.
struct Again {
    connect: Arc<Connect>,
    service: Arc<dyn Service>,
    about: Arc<About>,
    agreed: Arc<Agreed>,
    listening: std::sync::Weak<Listening>,
    /// The connection that has been made to find out about the server.
    first: Mutex<Option<Peer>>,
}

impl Again {
    async fn connect(&self) -> Result<Peer, CallError> {
        let known = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(peer) = known {
            return Ok(peer);
        }
        let peer = (self.connect)(Arc::clone(&self.service)).await?;
        if !self.agreed.revision.is_stateless() {
            initialize(&peer, &self.about, self.agreed.revision).await?;
            peer.notify(methods::INITIALIZED, ()).await?;
        }
        if let Some(listening) = self.listening.upgrade() {
            if !self.agreed.revision.is_stateless() {
                subscribe_again(&listening, |call| Service::call(&peer, &call)).await;
            }
            begin(&self.about, &self.agreed, &peer, &listening);
            // It may be another version of the server. Its lists are read over the connection that is being made here.
            tokio::spawn(async move { listening.lost().await });
        }
        Ok(peer)
    }

    /// Asks for notifications over the first connection.
    fn subscribe(&self, listening: &Listening) {
        if let Some(peer) = &*self.first.lock().unwrap_or_else(PoisonError::into_inner) {
            begin(&self.about, &self.agreed, peer, listening);
        }
    }
}

/// Asks for notifications over a new connection, where that is necessary and someone certainly wants them.
fn begin(about: &About, agreed: &Agreed, peer: &Peer, listening: &Listening) {
    if matches!(listening.host(), Host::Program(_)) {
        return;
    }
    let Some(call) = subscription(about, agreed) else { return };
    let peer = peer.clone();
    // It ends with the connection.
    listening.run(async move { drop(Service::call(&peer, &call).await) });
}

/// Subscribes to the resources that are watched, in a new session.
pub(super) async fn subscribe_again<R>(listening: &Listening, send: impl Fn(Call) -> R)
where
    R: Future<Output = Reply>,
{
    for uri in listening.watchers.uris() {
        let Ok(params) = Object::new().with("uri", uri.as_str()).json() else { continue };
        let call = Call::new(methods::SUBSCRIBE, Some(params));
        let told = tokio::time::timeout(HANDSHAKE, send(call)).await;
        if !told.is_ok_and(|reply| matches!(reply.outcome, Outcome::Value(_))) {
            tracing::warn!(uri, "the MCP server does not accept a subscription that it had accepted before");
        }
    }
}

/// Finds out how to talk to a server. One that exits when it gets a method that it does not know is started again.
async fn negotiate(
    connect: &Connect,
    service: &Arc<dyn Service>,
    about: &About,
    revision: Option<Revision>,
) -> Result<(Peer, Agreed), CallError> {
    let mut peer = connect(Arc::clone(service)).await?;
    let stateful = revision.filter(|revision| !revision.is_stateless());
    if stateful.is_none() {
        match probe(&peer, about, revision.is_some()).await {
            Probe::Modern(agreed) => return Ok((peer, *agreed)),
            Probe::Old => {}
            Probe::Lost(error) if error.rejection().is_some() => return Err(error),
            Probe::Lost(_) => peer = connect(Arc::clone(service)).await?,
        }
    }
    let agreed = initialize(&peer, about, stateful.unwrap_or(Revision::LATEST_STATEFUL)).await?;
    peer.notify(methods::INITIALIZED, ()).await?;
    Ok((peer, agreed))
}

enum Probe {
    Modern(Box<Agreed>),
    /// It has to be initialized.
    Old,
    /// It cannot be reached any more, or speaks no revision that we speak.
    Lost(CallError),
}

/// Asks for the versions of a server. Whatever a server of the older era answers, it is not this. A server that is known to be modern is
/// asked with more patience.
async fn probe(peer: &Peer, about: &About, is_modern: bool) -> Probe {
    let claim = Claim { features: about.features, ..Claim::default() };
    let call = match about.request(methods::DISCOVER, Object::new(), Revision::LATEST, claim) {
        Ok(call) => call,
        Err(error) => return Probe::Lost(error.into()),
    };
    let time = if is_modern { HANDSHAKE } else { PROBE };
    let mut told = ask(peer, &call, time).await;
    // MCP-M-05: it has looked at the version, so it is asked once more if it speaks ours.
    if let Err(CallError::Rejected(refusal)) = &told
        && refusal.code == error::UNSUPPORTED_VERSION
        && supports(refusal.data.as_ref(), |revision| revision == Revision::LATEST)
    {
        told = ask(peer, &call, time).await;
    }
    match told {
        Ok(json) => match json.decode::<DiscoverResult>() {
            Ok(told)
                if told.supported_versions.iter().any(|version| version == Revision::LATEST.as_str()) =>
            {
                let server = told.server_info();
                let DiscoverResult { capabilities, instructions, .. } = told;
                let revision = Revision::LATEST;
                Probe::Modern(Box::new(Agreed { revision, capabilities, server, instructions }))
            }
            _ => Probe::Old,
        },
        // MCP-X-01: a modern server that speaks none of our revisions.
        Err(CallError::Rejected(refusal))
            if refusal.code == error::UNSUPPORTED_VERSION
                && refusal.data.is_some()
                && !supports(refusal.data.as_ref(), |revision| !revision.is_stateless()) =>
        {
            Probe::Lost(CallError::Rejected(refusal))
        }
        Err(CallError::Rejected(_) | CallError::TimedOut | CallError::Protocol(_)) => Probe::Old,
        Err(lost) => Probe::Lost(lost),
    }
}

/// Whether a refusal names a revision like that.
fn supports(data: Option<&Json>, is_wanted: impl Fn(Revision) -> bool) -> bool {
    let supported = data.and_then(|data| data.get("supported"));
    let versions = supported.and_then(|supported| supported.decode::<Vec<String>>().ok()).unwrap_or_default();
    versions.iter().filter_map(|version| version.parse().ok()).any(is_wanted)
}

/// Asks a question of our own, which a server must not let wait for longer than this. A login does not count.
async fn ask(peer: &Peer, call: &Call, time: Duration) -> Result<Json, CallError> {
    let clock = Clock::new(time, None);
    let mut cx = Context::default();
    cx.insert(Arc::clone(&clock));
    let reply = clock.limit(Service::call(peer, &call.clone().with_context(cx))).await?;
    match reply.outcome {
        Outcome::Value(json) => Ok(json),
        Outcome::Error(error) => Err(error.into()),
        Outcome::Stream(_) => Err(CallError::Protocol("the answer is a stream".into())),
    }
}

/// Begins a session.
async fn initialize(peer: &Peer, about: &About, revision: Revision) -> Result<Agreed, CallError> {
    let call = about.initialization(revision)?;
    let told = ask(peer, &call, HANDSHAKE).await.map_err(|error| match error {
        CallError::Rejected(error) if error.code == Code::METHOD_NOT_FOUND => {
            CallError::Unsupported("the server does not speak MCP: it has no initialize".into())
        }
        CallError::Rejected(error) if error.code == error::UNSUPPORTED_VERSION => {
            CallError::Unsupported("the server speaks only other revisions of MCP".into())
        }
        error => error,
    })?;
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
