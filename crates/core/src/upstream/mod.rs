//! The server behind a proxy.

mod own;

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::call::Call;
use crate::call_error::CallError;
use crate::error::ErrorObject;
use crate::forward::Forward;
use crate::metadata::AllowedNames;
use crate::peer::Peer;
use crate::reconnect::{Backoff, ReconnectOptions, ReconnectingPeer};
use crate::reply::{Reply, ReplyFuture};
use crate::service::{Service, service_fn};
use crate::session::Session;

use self::own::{Cell, OwnConnections, UpstreamId};

/// The server behind a proxy: a service that [forwards](Forward) every call, with the connections that this takes.
///
/// By default an [exclusive](Session::is_exclusive) session has its own connection, which lasts as long as the session. So calls
/// and notifications from the upstream reach the client that they are for. All other sessions share one connection, over which the upstream
/// cannot call back. [`Connections`] says otherwise.
///
/// When a connection breaks, the calls in progress over it fail with -32004, and the next call makes a new one. If the upstream cannot be
/// reached, calls fail at once with -32004.
///
/// Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{CallError, ErrorObject, Peer, Router, Service, Upstream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let router = Arc::new(router);
/// let upstream = Upstream::new(move |_calls_back: Arc<dyn Service>| {
///     let peer = Peer::local(Arc::clone(&router));
///     async { Ok::<_, CallError>(peer) }
/// });
/// assert_eq!(Peer::local(upstream).call::<i64>("add", [2, 3]).await?, 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Upstream {
    id: UpstreamId,
    connect: Arc<Connect>,
    connections: Connections,
    shared: Arc<Shared>,
    wrap: Arc<Wrap>,
    of_calls: AllowedNames,
}

/// Which sessions of clients share a connection to an [`Upstream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connections {
    /// Each [exclusive](Session::is_exclusive) session has its own; all others share one.
    PerClient,
    /// All sessions share this many. The upstream cannot call back.
    Shared(NonZeroUsize),
}

/// Connects for a session, or for all that share a connection; the upstream calls this service.
type Connect = dyn Fn(Option<&Session>, Arc<dyn Service>) -> Connecting + Send + Sync;
type Connecting = Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>;
/// Wraps the service that forwards calls of the upstream to the client of a session.
type Wrap = dyn Fn(&Session, Arc<dyn Service>) -> Arc<dyn Service> + Send + Sync;

/// The connections that sessions share, used in turn.
struct Shared {
    all: Vec<Forward>,
    next: AtomicUsize,
}

impl Shared {
    fn new(connect: &Arc<Connect>, count: usize, of_calls: &AllowedNames) -> Shared {
        let one = |_| {
            let connect = Arc::clone(connect);
            let peer = ReconnectingPeer::with_options(
                move || connect(None, Arc::new(service_fn(without_methods))),
                // Each call tries once: its caller knows best whether to wait for a server that is not there.
                ReconnectOptions::default()
                    .with_on_demand(true)
                    .with_backoff(Backoff::default().with_attempts(Some(1))),
            );
            Forward::new(peer.peer()).with_call_metadata(of_calls.clone())
        };
        Shared { all: (0..count).map(one).collect(), next: AtomicUsize::new(0) }
    }

    fn one(&self) -> &Forward {
        match &self.all[..] {
            [one] => one,
            all => &all[self.next.fetch_add(1, Ordering::Relaxed) % all.len()],
        }
    }
}

impl Upstream {
    /// An upstream that is connected to with this function. The upstream calls the service that the function gets. Nothing is
    /// sent before the first call.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn new<F, R, E>(connect: F) -> Upstream
    where
        F: Fn(Arc<dyn Service>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        Upstream::with_sessions(move |_, calls_back| connect(calls_back))
    }

    /// Like [`new`](Upstream::new), with a function that also gets the session that a connection is for: none if it is shared.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn with_sessions<F, R, E>(connect: F) -> Upstream
    where
        F: Fn(Option<&Session>, Arc<dyn Service>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        let connect: Arc<Connect> = Arc::new(move |session, calls_back| {
            let connecting = connect(session, calls_back);
            Box::pin(async { connecting.await.map_err(Into::into) })
        });
        let of_calls = AllowedNames::default();
        Upstream {
            id: UpstreamId::new(),
            connections: Connections::PerClient,
            shared: Arc::new(Shared::new(&connect, 1, &of_calls)),
            connect,
            wrap: Arc::new(|_, service| service),
            of_calls,
        }
    }

    /// Sets which sessions share a connection.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn with_connections(mut self, connections: Connections) -> Upstream {
        self.connections = connections;
        self.with_new_shared()
    }

    /// Wraps the service that gets the calls of the upstream for a session, for instance to observe them.
    #[must_use]
    pub fn with_calls_back(
        mut self,
        wrap: impl Fn(&Session, Arc<dyn Service>) -> Arc<dyn Service> + Send + Sync + 'static,
    ) -> Upstream {
        self.wrap = Arc::new(wrap);
        self
    }

    /// Forwards the metadata of calls under these names; by default those of a distributed trace.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn with_call_metadata(mut self, names: AllowedNames) -> Upstream {
        self.of_calls = names;
        self.with_new_shared()
    }

    fn with_new_shared(mut self) -> Upstream {
        let count = match self.connections {
            Connections::PerClient => 1,
            Connections::Shared(count) => count.get(),
        };
        self.shared = Arc::new(Shared::new(&self.connect, count, &self.of_calls));
        self
    }

    /// Connects for a session before its first call, so that the upstream can call its client. Does nothing for sessions that
    /// share a connection.
    ///
    /// # Errors
    ///
    /// When the upstream cannot be reached. The next call of the session tries again.
    pub async fn open(&self, session: &Session) -> Result<(), CallError> {
        if !self.is_own(session) {
            return Ok(());
        }
        let cell = OwnConnections::cell(session, self.id);
        cell.get_or_try_init(|| self.connect(session)).await.map(drop)
    }

    fn is_own(&self, session: &Session) -> bool {
        self.connections == Connections::PerClient && session.is_exclusive()
    }

    fn connect(&self, session: &Session) -> impl Future<Output = Result<Forward, CallError>> + Send + use<> {
        let calls_back = (self.wrap)(session, Arc::new(Forward::new(session.peer().clone())));
        let (connecting, names) = ((self.connect)(Some(session), calls_back), self.of_calls.clone());
        async move { Ok(Forward::new(connecting.await?).with_call_metadata(names)) }
    }

    /// Connects for the session, and forwards the call.
    fn connect_and_call(&self, cell: Cell, call: &Call) -> ReplyFuture {
        let (is_notification, call, upstream) = (call.is_notification(), call.clone(), self.clone());
        let forwarded = async move {
            let connect = || upstream.connect(call.cx.session());
            match cell.get_or_try_init(connect).await {
                Ok(forward) => forward.call(&call).await,
                Err(error) => Reply::error(error.into()),
            }
        };
        match is_notification {
            false => ReplyFuture::pending(forwarded),
            // A client may notify and close its connection, which must not cancel what it sent.
            true => {
                let task = tokio::spawn(forwarded);
                ReplyFuture::pending(async {
                    task.await.unwrap_or_else(|error| ErrorObject::internal(&error).into())
                })
            }
        }
    }
}

impl Service for Upstream {
    fn call(&self, call: &Call) -> ReplyFuture {
        let session = call.cx.session();
        if !self.is_own(session) {
            return self.shared.one().call(call);
        }
        let cell = OwnConnections::cell(session, self.id);
        let Some(forward) = cell.get() else { return self.connect_and_call(cell, call) };
        let reply = forward.call(call);
        match has_ended(&reply) {
            false => reply,
            true => self.connect_and_call(OwnConnections::replace(session, self.id, &cell), call),
        }
    }
}

/// Whether a call failed at once because its connection has ended. Then nothing was sent.
fn has_ended(reply: &ReplyFuture) -> bool {
    let error = reply.as_ready().and_then(|reply| reply.outcome.error());
    matches!(error.and_then(ErrorObject::local), Some(CallError::Closed(_) | CallError::Unreachable(_)))
}

fn without_methods(call: &Call) -> ReplyFuture {
    ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()))
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Upstream { connections, of_calls, .. } = self;
        f.debug_struct("Upstream")
            .field("connections", connections)
            .field("of_calls", of_calls)
            .finish_non_exhaustive()
    }
}
