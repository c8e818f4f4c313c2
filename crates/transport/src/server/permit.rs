//! What a connection gets from its server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use switchboard_core::{CloseReason, Connection, Engine, Extensions, Service, Settings};

use super::Handle;
use super::limit::{ConnectionLimit, ConnectionSlot};
use super::options::ServerOptions;
use super::shutdown::Shutdown;
use super::tasks::Tasks;
use crate::budget::{Budget, Share};
use crate::running;

/// What all connections of one server share.
pub(crate) struct ServerState {
    pub(crate) engine: Engine,
    pub(crate) options: ServerOptions,
    /// Options of single transports, found by their type.
    pub(crate) extensions: Extensions,
    pub(crate) shutdown: Arc<Shutdown>,
    limit: Arc<ConnectionLimit>,
    budget: Arc<Budget>,
    tasks: Tasks,
}

/// Permission to serve one connection. The connection counts towards the limits of its server until this is dropped.
///
/// A [`Listener`](super::Listener) gets one for each connection that it accepted, and finds here all that it needs to serve it:
/// the engine that answers calls, the server's options, the request to shut down, and a share of the memory for long messages.
/// It moves along when a connection changes its protocol, as HTTP does for WebSocket.
pub struct ConnectionPermit {
    state: Arc<ServerState>,
    _slot: ConnectionSlot,
}

impl ServerState {
    pub(crate) fn new(
        engine: Engine,
        options: ServerOptions,
        extensions: Extensions,
        shutdown: Arc<Shutdown>,
    ) -> Arc<ServerState> {
        let limit = ConnectionLimit::new(options.connections, options.connections_per_address);
        let (budget, tasks) = (Budget::new(options.buffers), Tasks::default());
        Arc::new(ServerState { engine, options, extensions, shutdown, limit, budget, tasks })
    }

    /// A permit for a connection from this address, if there is room for one more.
    pub(crate) fn admit(self: &Arc<ServerState>, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        let slot = self.limit.take(address)?;
        Some(ConnectionPermit { state: Arc::clone(self), _slot: slot })
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Cancels every connection, and accepts no more.
    #[cfg(feature = "http")]
    pub(crate) fn cancel_all(&self) {
        self.tasks.close();
    }

    /// Frees what finished tasks have left behind.
    #[cfg(feature = "ws")]
    pub(crate) fn forget_finished(&self) {
        self.tasks.forget_finished();
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

impl ConnectionPermit {
    /// What answers calls.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.state.engine
    }

    /// The service that answers calls.
    #[must_use]
    pub fn service(&self) -> &Arc<dyn Service> {
        self.state.engine.service()
    }

    /// Limits and dialect.
    #[must_use]
    pub fn settings(&self) -> &Arc<Settings> {
        self.state.engine.settings()
    }

    /// How connections are treated.
    #[must_use]
    pub fn options(&self) -> &ServerOptions {
        &self.state.options
    }

    /// The options of this type that the server was given with [`Server::with_extension`](super::Server::with_extension).
    #[must_use]
    pub fn extension<T: 'static>(&self) -> Option<&T> {
        self.state.extensions.get()
    }

    /// Tells when the server shuts down. A connection then finishes the calls that it has accepted and closes.
    #[must_use]
    pub fn shutdown(&self) -> &Arc<Shutdown> {
        &self.state.shutdown
    }

    /// What shuts the server down: for a connection that the server must not outlive, such as standard input and output.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.state.shutdown)
    }

    /// An empty share of [`ServerOptions::buffers`], to cover one long message after the other.
    ///
    /// For transports that read messages themselves. [`stream::Options::within`](crate::stream::Options::within) does it for
    /// streams of bytes.
    #[must_use]
    pub fn share(&self) -> Share {
        Share::of(Some(self.budget()))
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        self.state.budget()
    }

    /// Runs a connection to its end. When the server shuts down, the connection is drained: it finishes the calls under way
    /// and refuses new ones.
    pub async fn run(&self, connection: Connection) {
        run(connection, self.shutdown()).await;
    }

    /// Runs a task that takes the permit with it. The server waits for it when it shuts down, and cancels it after
    /// [`drain_time`](switchboard_core::Limits::drain_time).
    pub fn spawn<F>(self, task: impl FnOnce(ConnectionPermit) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let state = Arc::clone(&self.state);
        state.tasks.spawn(task(self));
    }
}

impl fmt::Debug for ConnectionPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionPermit").field("options", self.options()).finish_non_exhaustive()
    }
}

async fn run(connection: Connection, shutdown: &Shutdown) {
    let session = connection.session().clone();
    let mut connection = pin!(running::log_end(connection));
    let mut requested = pin!(shutdown.wait());
    let mut is_draining = false;
    poll_fn(|cx| {
        // Messages that have arrived are accepted, even if shutdown was requested before they are read.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if !is_draining && requested.as_mut().poll(cx).is_ready() {
            is_draining = true;
            session.close(CloseReason::shutting_down());
            return connection.as_mut().poll(cx);
        }
        Poll::Pending
    })
    .await;
}
