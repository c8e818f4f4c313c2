//! What a connection gets from its server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use switchboard_core::{
    Account, Budget, CloseReason, Connection, ConnectionError, Engine, Extensions, Service, Settings,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Handle;
use super::file_limit::Room;
use super::idle::IdleWatch;
use super::limit::{ConnectionLimit, ConnectionSlot};
use super::options::ServerOptions;
use super::shutdown::Shutdown;
use super::tasks::Tasks;
use crate::running;

/// What all connections of one server share.
pub(crate) struct ServerState {
    pub(crate) engine: Engine,
    pub(crate) options: ServerOptions,
    /// Options of single transports, found by their type.
    pub(crate) extensions: Extensions,
    pub(crate) shutdown: Arc<Shutdown>,
    limit: Arc<ConnectionLimit>,
    /// One for each connection that is being refused with a message.
    refusals: Arc<Semaphore>,
    /// Ends these refusals at once.
    pub(super) hurry: Notify,
    budget: Arc<Budget>,
    /// What the requests of an endpoint that is mounted into another server take.
    #[cfg(feature = "http")]
    mounted: Arc<Account>,
    tasks: Tasks,
}

/// Permission to serve one connection. The connection counts towards the limits of its server until this is dropped.
///
/// A [`Listener`](super::Listener) gets one for each accepted connection, and finds here everything it needs to serve it:
/// the engine that answers calls, the server's options, the request to shut down, and a share of the memory for long messages.
/// It moves along when a connection changes its protocol, as HTTP does for WebSocket.
pub struct ConnectionPermit {
    state: Arc<ServerState>,
    account: Arc<Account>,
    #[cfg_attr(
        not(any(feature = "http", feature = "tcp")),
        expect(dead_code, reason = "held until it is dropped")
    )]
    slot: ConnectionSlot,
}

impl ServerState {
    /// For connections that others accept, and whose files others count.
    #[cfg(feature = "http")]
    pub(crate) fn new(
        engine: Engine,
        options: ServerOptions,
        extensions: Extensions,
        shutdown: Arc<Shutdown>,
    ) -> Arc<ServerState> {
        let room = Room { connections: options.connections, refusals: 0 };
        ServerState::within(room, 1, engine, options, extensions, shutdown)
    }

    /// For a server with this many listeners.
    pub(crate) fn listening(
        listeners: usize,
        engine: Engine,
        options: ServerOptions,
        extensions: Extensions,
        shutdown: Arc<Shutdown>,
    ) -> Arc<ServerState> {
        let room = Room::for_connections(options.connections);
        ServerState::within(room, listeners, engine, options, extensions, shutdown)
    }

    fn within(
        room: Room,
        listeners: usize,
        engine: Engine,
        options: ServerOptions,
        extensions: Extensions,
        shutdown: Arc<Shutdown>,
    ) -> Arc<ServerState> {
        let limit = ConnectionLimit::new(room.connections, options.connections_per_address, listeners);
        let refusals = Arc::new(Semaphore::new(room.refusals));
        let (budget, tasks) = (Budget::new(options.buffers), Tasks::default());
        Arc::new(ServerState {
            engine,
            options,
            extensions,
            shutdown,
            limit,
            refusals,
            hurry: Notify::new(),
            #[cfg(feature = "http")]
            mounted: Account::of_one(&budget),
            budget,
            tasks,
        })
    }

    /// A permit for a connection that this listener accepted from this address, if there is room for one more.
    pub(crate) fn admit(
        self: &Arc<ServerState>,
        listener: usize,
        address: Option<IpAddr>,
    ) -> Option<ConnectionPermit> {
        let slot = self.limit.take(listener, address)?;
        let account = Account::of_many(&self.budget);
        Some(ConnectionPermit { state: Arc::clone(self), account, slot })
    }

    /// Permission to refuse a connection with a message, unless too many are being refused.
    pub(super) fn refusal(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.refusals).try_acquire_owned().ok()
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

    #[cfg(feature = "http")]
    pub(crate) fn mounted(&self) -> &Arc<Account> {
        &self.mounted
    }
}

impl ConnectionPermit {
    /// The engine that answers calls.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.state.engine
    }

    /// Counts the connection of a proxy for this client. False if that has too many.
    #[cfg(any(feature = "http", feature = "tcp"))]
    pub(crate) fn count_for(&mut self, client: IpAddr) -> bool {
        self.slot.count_for(client)
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

    /// The options for connections.
    #[must_use]
    pub fn options(&self) -> &ServerOptions {
        &self.state.options
    }

    /// The options of this type that were passed to [`Server::with_extension`](super::Server::with_extension).
    #[must_use]
    pub fn extension<T: 'static>(&self) -> Option<&T> {
        self.state.extensions.get()
    }

    /// Signals when the server shuts down. A connection then finishes the calls that it has accepted and closes.
    #[must_use]
    pub fn shutdown(&self) -> &Arc<Shutdown> {
        &self.state.shutdown
    }

    /// A handle that shuts the server down: for a connection that the server must not outlive, such as standard input and output.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.state.shutdown)
    }

    /// The memory that the messages of the connection use of [`ServerOptions::buffers`].
    ///
    /// For transports that read messages themselves: cover each with a [`Share`](switchboard_core::Share) while it arrives, and
    /// [pass](switchboard_core::Session::set_account) the account to the connection's session.
    /// [`stream::StreamOptions::within`](crate::stream::StreamOptions::within) does it for byte streams.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    #[cfg(feature = "http")]
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.state.budget
    }

    /// Runs a connection to its end. When the server shuts down, the connection is drained: it finishes the calls in flight
    /// and rejects new ones. A connection that is idle for [`duplex_idle_time`](ServerOptions::duplex_idle_time) is closed.
    pub async fn run(&self, connection: Connection) {
        self.run_within(connection, self.options().duplex_idle_time).await;
    }

    /// The same for a connection that may be idle for this time, or for as long as it likes.
    pub(crate) async fn run_within(&self, connection: Connection, idle_time: Option<Duration>) {
        running::log_end(run(connection, self.shutdown(), IdleWatch::new(idle_time))).await;
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

async fn run(
    mut connection: Connection,
    shutdown: &Shutdown,
    mut idle: IdleWatch,
) -> Result<(), ConnectionError> {
    let session = connection.session().clone();
    let mut requested = pin!(shutdown.wait());
    let mut is_closing = false;
    poll_fn(|cx| {
        // Messages that have arrived are accepted, even if shutdown was requested before they are read.
        let ended = Pin::new(&mut connection).poll(cx);
        if ended.is_ready() || is_closing {
            return ended;
        }
        let reason = if requested.as_mut().poll(cx).is_ready() {
            CloseReason::shutting_down()
        } else if idle.is_idle(|| connection.idle_mark(), cx) {
            CloseReason::idle()
        } else {
            return Poll::Pending;
        };
        is_closing = true;
        session.close(reason);
        Pin::new(&mut connection).poll(cx)
    })
    .await
}
