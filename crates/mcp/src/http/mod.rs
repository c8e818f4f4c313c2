//! MCP over HTTP: every revision at one path, and the two paths of the oldest one.
//!
//! A request that names its protocol version in `_meta` stands alone; `initialize` opens a session; other requests belong to the
//! session in their header `Mcp-Session-Id`. Messages of a call go into its answer, which then is an event stream; messages of a
//! session go to its GET stream.

mod alive;
mod answer;
mod body;
mod events;
mod get;
mod headers;
mod in_parts;
mod message;
mod post;
mod protected;
mod sessions;
mod shared;
mod two_paths;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderMap;
use http::{Method, Response};
use switchboard_core::{Context, Engine, Settings};
use switchboard_layers::store::Store;
use switchboard_transport::http::{Body, Guarded, Route, RouteFuture};

use self::answer::Refusal;
pub(crate) use self::post::{CloseStream, ShuttingDown};
pub(crate) use self::protected::challenge;
pub use self::protected::{Guard, MetadataRoute, Protected, ProtectedError};
use self::sessions::Sessions;
use self::shared::SharedSessions;
pub use self::two_paths::{MessagesRoute, SseRoute};
use crate::server::{BuildError, Server, Shared};

/// Serves MCP at a path, see [`EndpointOptions::route`](switchboard_transport::http::EndpointOptions::route). Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::Router;
/// use switchboard_mcp::{McpRoute, Server};
/// use switchboard_transport::http::EndpointOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(Router::builder().build()?).named("empty", "1.0.0");
/// let options = EndpointOptions::default().route("/mcp", McpRoute::new(&server)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpRoute(Arc<Endpoint>);

/// What serves the requests of a path.
pub(crate) struct Endpoint {
    shared: Arc<Shared>,
    /// For requests and sessions.
    engine: Engine,
    /// For sessions of the revision that has batches.
    batching: Engine,
    sessions: Sessions,
    shared_sessions: Option<Arc<SharedSessions>>,
    options: HttpOptions,
    is_observed: bool,
}

/// The options of [`McpRoute`].
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// How many sessions there are at most: 10,000 by default. A new one replaces the one that was idle for the longest time.
    pub sessions: usize,
    /// After how much time an idle session ends: 30 minutes by default.
    pub session_time: Duration,
    /// How often a silent event stream sends a comment: every 15 seconds by default.
    pub keep_alive: Duration,
    /// Where several servers share their sessions: nowhere by default, and each has its own.
    pub store: Option<Arc<dyn Store>>,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            sessions: 10_000,
            session_time: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            store: None,
        }
    }
}

impl HttpOptions {
    /// Sets [`sessions`](HttpOptions::sessions).
    #[must_use]
    pub fn with_sessions(mut self, sessions: usize) -> HttpOptions {
        self.sessions = sessions.max(1);
        self
    }

    /// Sets [`session_time`](HttpOptions::session_time).
    #[must_use]
    pub fn with_session_time(mut self, session_time: Duration) -> HttpOptions {
        self.session_time = session_time;
        self
    }

    /// Sets [`keep_alive`](HttpOptions::keep_alive).
    #[must_use]
    pub fn with_keep_alive(mut self, keep_alive: Duration) -> HttpOptions {
        self.keep_alive = keep_alive;
        self
    }

    /// Shares sessions with the other servers that have this store, so that any of them can serve any client. It has to keep entries for the
    /// [`store_time`](HttpOptions::store_time).
    ///
    /// A session and the events of its streams are known everywhere: a client that is cut off gets the rest of its answer from another server.
    /// Calls, questions to the client, and messages that belong to no request stay at the server where they began. A session that a
    /// client ends is refused by the other servers within a second. While the store is not available, each server serves the sessions that it knows.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> HttpOptions {
        self.store = Some(store);
        self
    }

    /// How long the store keeps entries.
    #[must_use]
    pub fn store_time(&self) -> Duration {
        SharedSessions::store_time(self.session_time)
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("sessions", &self.sessions)
            .field("session_time", &self.session_time)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}

impl McpRoute {
    /// A route with default settings.
    ///
    /// # Errors
    ///
    /// When the methods of the server cannot be offered.
    pub fn new(server: &Server) -> Result<McpRoute, BuildError> {
        McpRoute::with(server, Settings::default(), HttpOptions::default())
    }

    /// A route with these settings. Their profile is replaced by that of MCP, and admission is up to the HTTP server.
    ///
    /// # Errors
    ///
    /// When the methods of the server cannot be offered.
    pub fn with(server: &Server, settings: Settings, options: HttpOptions) -> Result<McpRoute, BuildError> {
        let (service, is_observed) = (server.service()?, settings.observer.is_some());
        let profile = Server::profile().with_batches_if(None);
        let settings = settings.with_admission(None).with_profile(profile.clone().with_batches(false));
        let batching = settings.clone().with_profile(profile);
        Ok(McpRoute(Arc::new(Endpoint {
            shared: Arc::clone(&server.0),
            engine: Engine::new(Arc::clone(&service), settings),
            batching: Engine::new(service, batching),
            sessions: Sessions::new(options.sessions, options.session_time),
            shared_sessions: options.store.as_ref().map(|store| {
                let shared = SharedSessions::new(Arc::clone(store), options.session_time, options.keep_alive);
                Arc::new(shared)
            }),
            options,
            is_observed,
        })))
    }

    /// The two routes of the revision 2024-11-05: the event stream, and where messages are posted, which is at this path.
    #[must_use]
    pub fn two_paths(&self, messages: impl Into<String>) -> (SseRoute, MessagesRoute) {
        two_paths::routes(&self.0, messages.into())
    }

    /// How many sessions are open at this server.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.sessions.len()
    }
}

impl Route for McpRoute {
    fn answer(&self, request: Guarded) -> RouteFuture {
        let endpoint = Arc::clone(&self.0);
        RouteFuture::new(async move {
            let cx = endpoint.is_observed.then(|| request.cx.clone());
            let response = match request.head.method {
                Method::POST => post::answer(Arc::clone(&endpoint), request).await,
                Method::GET => get::answer(Arc::clone(&endpoint), request).await,
                Method::DELETE => get::end(&endpoint, request).await,
                _ => answer::not_allowed(),
            };
            endpoint.tell(cx.as_ref(), response)
        })
    }
}

impl Endpoint {
    /// Tells the observer, if there is one, that a request was refused before it reached the engine.
    fn tell(&self, cx: Option<&Context>, response: Response<Body>) -> Response<Body> {
        if let (Some(cx), Some(Refusal(error))) = (cx, response.extensions().get()) {
            self.engine.refused_by_carrier(cx, error, response.status().as_u16());
        }
        response
    }
}

impl fmt::Debug for McpRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpRoute").field("options", &self.0.options).finish_non_exhaustive()
    }
}

/// The only value of a header, if it is text. None if there are several.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    values.next().is_none().then_some(value)
}

/// The header that names a session.
const SESSION_ID: &str = "mcp-session-id";
/// The header that names a revision.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
