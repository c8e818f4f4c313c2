//! The server behind a proxy.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::OnceCell;

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

/// The server behind a proxy: a service that [forwards](Forward) every call, with the connections that this takes.
///
/// An [exclusive](Session::is_exclusive) session has its own connection, which lasts as long as the session. So calls and
/// notifications from the upstream reach the client that they are for. If that connection breaks, calls of the session fail
/// with -32004. All other sessions share one connection, over which the upstream cannot call back; it reconnects when
/// it is needed. If the upstream cannot be reached, calls fail at once with -32004.
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
    connect: Arc<Connect>,
    shared: ReconnectingPeer,
    wrap: Arc<Wrap>,
    of_calls: AllowedNames,
}

/// Connects; the upstream calls this service.
type Connect = dyn Fn(Arc<dyn Service>) -> Connecting + Send + Sync;
type Connecting = Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>;
/// Wraps the service that forwards calls of the upstream to the client of a session.
type Wrap = dyn Fn(&Session, Arc<dyn Service>) -> Arc<dyn Service> + Send + Sync;

/// The connection of a session.
#[derive(Default)]
struct OwnConnection(OnceCell<Forward>);

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
        let connect: Arc<Connect> = Arc::new(move |service| {
            let connecting = connect(service);
            Box::pin(async { connecting.await.map_err(Into::into) })
        });
        let connect_shared = Arc::clone(&connect);
        let shared = ReconnectingPeer::with_options(
            move || connect_shared(Arc::new(service_fn(without_methods))),
            // Each call tries once: its caller knows best whether to wait for a server that is not there.
            ReconnectOptions::default()
                .with_on_demand(true)
                .with_backoff(Backoff::default().with_attempts(Some(1))),
        );
        Upstream { connect, shared, wrap: Arc::new(|_, service| service), of_calls: AllowedNames::default() }
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
    #[must_use]
    pub fn with_call_metadata(mut self, names: AllowedNames) -> Upstream {
        self.of_calls = names;
        self
    }

    /// Connects for a session before its first call, so that the upstream can call its client. Does nothing for sessions that
    /// share a connection.
    ///
    /// # Errors
    ///
    /// When the upstream cannot be reached. The next call of the session tries again.
    pub async fn open(&self, session: &Session) -> Result<(), CallError> {
        if !session.is_exclusive() {
            return Ok(());
        }
        let own = session.get_or_insert_with(OwnConnection::default);
        own.0.get_or_try_init(|| self.connect(session)).await.map(drop)
    }

    fn connect(&self, session: &Session) -> impl Future<Output = Result<Forward, CallError>> + Send + use<> {
        let calls_back = (self.wrap)(session, Arc::new(Forward::new(session.peer().clone())));
        let (connecting, names) = ((self.connect)(calls_back), self.of_calls.clone());
        async move { Ok(Forward::new(connecting.await?).with_call_metadata(names)) }
    }
}

impl Service for Upstream {
    fn call(&self, call: &Call) -> ReplyFuture {
        let session = call.cx.session();
        if !session.is_exclusive() {
            return Forward::new(self.shared.peer()).with_call_metadata(self.of_calls.clone()).call(call);
        }
        let own = session.get_or_insert_with(OwnConnection::default);
        if let Some(forward) = own.0.get() {
            return forward.call(call);
        }
        let (is_notification, call, upstream) = (call.is_notification(), call.clone(), self.clone());
        let forwarded = async move {
            let connect = || upstream.connect(call.cx.session());
            match own.0.get_or_try_init(connect).await {
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

fn without_methods(call: &Call) -> ReplyFuture {
    ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()))
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("of_calls", &self.of_calls).finish_non_exhaustive()
    }
}
