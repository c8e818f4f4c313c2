//! Connections to a node.

mod batches;
mod expiring;
mod open;
mod opened;
mod probe;
mod starts;
mod unheard;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{AllowedNames, CallError, Connections, Peer, Service, Session, Upstream};
use switchboard_transport::Dial;

pub use self::batches::Batches;
use self::batches::Batching;
use self::expiring::Expiring;
pub use self::open::OpenConnections;
use self::opened::Opened;
pub use self::probe::{CallProbe, ConnectProbe};
use self::starts::Starts;
use self::unheard::Unheard;
use crate::pool::Node;

type Connecting = Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>;

/// How connections to a [`Node`] are made, shared and ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Link {
    /// Which sessions of clients share a connection: by default, each client has its own.
    pub connections: Connections,
    /// The metadata of calls that is forwarded: by default, that of a distributed trace.
    pub forward: AllowedNames,
    /// Ends a connection, and a process with it, that was not used for this long.
    pub idle: Option<Duration>,
    /// Ends a connection, and a process with it, after this time. Calls in progress are finished.
    pub lifetime: Option<Duration>,
    /// Sends calls of a caller's batch together, as [`Batches`] says: off by default. For HTTP, where each call is a request otherwise.
    pub batches: bool,
    /// What the log calls the server: empty by default.
    pub name: Arc<str>,
    open: OpenConnections,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            connections: Connections::PerClient,
            forward: AllowedNames::default(),
            idle: None,
            lifetime: None,
            batches: false,
            name: "".into(),
            open: OpenConnections::default(),
        }
    }
}

impl Link {
    /// Sets [`connections`](Link::connections).
    #[must_use]
    pub fn with_connections(mut self, connections: Connections) -> Link {
        self.connections = connections;
        self
    }

    /// Sets [`forward`](Link::forward).
    #[must_use]
    pub fn with_forward(mut self, names: AllowedNames) -> Link {
        self.forward = names;
        self
    }

    /// Sets [`idle`](Link::idle).
    #[must_use]
    pub fn with_idle(mut self, idle: Option<Duration>) -> Link {
        self.idle = idle;
        self
    }

    /// Sets [`lifetime`](Link::lifetime).
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Option<Duration>) -> Link {
        self.lifetime = lifetime;
        self
    }

    /// Sets [`batches`](Link::batches).
    #[must_use]
    pub fn with_batches(mut self, batches: bool) -> Link {
        self.batches = batches;
        self
    }

    /// Sets [`name`](Link::name).
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Link {
        self.name = name.into();
        self
    }

    /// Counts the connections that it has made and that are open.
    #[must_use]
    pub fn open(&self) -> &OpenConnections {
        &self.open
    }

    /// The server that `dial` connects to, as a service. If connections fail or break at once, the next attempts wait longer and longer;
    /// calls that come meanwhile fail with -32004. A client with its own connection waits for its own failures only. When the last clone is
    /// dropped, connections end with their calls and streams in progress, even if the sessions of their clients go on. What the server sends
    /// by itself over a shared connection is dropped, with a warning the first time.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn upstream(&self, dial: Dial) -> Upstream {
        let shared = Arc::new(Starts::new(dial.url().scheme() == "exec"));
        let (idle, lifetime, open) = (self.idle, self.lifetime, self.open.clone());
        let batches = self.batches;
        let opened = Arc::<Opened>::default();
        let is_for_all = self.connections != Connections::PerClient;
        let unheard = Unheard::new(Arc::clone(&self.name), is_for_all);
        let connect = move |session: Option<&Session>, calls_back: Arc<dyn Service>| {
            let starts = session.map_or_else(|| Arc::clone(&shared), |session| shared.of_session(session));
            let (opened, open) = (Arc::clone(&opened), open.clone());
            let calls_back = match session {
                Some(_) => calls_back,
                None => unheard.around(calls_back),
            };
            let dial = dial.clone().with_service(calls_back);
            async move {
                starts.may_start()?;
                match dial.connect().await {
                    Ok(peer) => {
                        let peer = if batches { Batching::around(peer) } else { peer };
                        let connection = Expiring::new(peer, open.open(), starts, idle, lifetime);
                        opened.add(connection.shared());
                        Ok(Peer::new(connection))
                    }
                    Err(error) => {
                        starts.failed();
                        Err(CallError::from(error))
                    }
                }
            }
        };
        Upstream::with_sessions(connect)
            .with_connections(self.connections)
            .with_call_metadata(self.forward.clone())
    }

    /// What connects for one client of a protocol with its own sessions. [`connections`](Link::connections) and [`forward`](Link::forward)
    /// have no effect. After failures, the next attempts wait longer and longer, as with [`upstream`](Link::upstream).
    pub fn connector(
        &self,
        dial: Dial,
    ) -> impl Fn(Arc<dyn Service>) -> Connecting + Clone + Send + Sync + 'static + use<> {
        let starts = Arc::new(Starts::new(dial.url().scheme() == "exec"));
        let (idle, lifetime, open) = (self.idle, self.lifetime, self.open.clone());
        move |calls_back| {
            let dial = dial.clone().with_service(calls_back);
            let (starts, open) = (Arc::clone(&starts), open.clone());
            Box::pin(async move {
                starts.may_start()?;
                let peer = dial.connect().await.inspect_err(|_| starts.failed())?;
                Ok(Peer::new(Expiring::new(peer, open.open(), starts, idle, lifetime)))
            })
        }
    }

    /// A node for this server. The name is for people: it must not contain secrets.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn node(&self, name: impl Into<Arc<str>>, dial: Dial) -> Node {
        Node::new(name, self.upstream(dial)).counting(self.open.clone())
    }
}
