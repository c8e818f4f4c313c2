//! A client that reconnects: a [`Peer`] that makes a new connection when the old one breaks.
//!
//! It wraps a function that connects, over any transport, and is used like any other peer.
//!
//! - **Calls that were not sent** wait for a connection, in order, for up to [`ReconnectOptions::connect_wait`].
//! - **Calls in flight** when the connection breaks fail with [`CallError::Closed`], because they may or may not have run.
//!   Calls that are [repeatable](crate::Call::repeatable) are sent again; [`ReconnectOptions::repeat`] can decide otherwise. So a
//!   call runs more than once only if that is allowed, and always has one outcome.
//! - **Notifications** are sent at most once, unless [`ReconnectOptions::repeat`] allows more.
//! - **Subscriptions**, and other streams whose calls are repeatable, are subscribed again under the same handle. A
//!   [`CallError::Gap`] marks where items may have been lost; it does not end the stream. If the server refuses to
//!   subscribe again, its error ends the stream. All other streams end with their connection.
//! - A server that shuts down gracefully (-32006) is treated like one whose connection broke.
//!
//! Connecting is retried with growing delays, see [`Backoff`], until it fails with a
//! [permanent](CallError::is_permanent) error. Everything ends when the last peer, call and stream is dropped.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_core::reconnect::ReconnectingPeer;
//! use switchboard_core::{CallError, Connection, Engine, ErrorObject, Origin, Router, Settings};
//! use switchboard_transport::memory;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server =
//!     Arc::new(Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?);
//! let connect = move || {
//!     let (here, there) = memory::pair(64 << 10);
//!     let run = |(source, sink), service| {
//!         let engine = Engine::new(service, Settings::default());
//!         let (peer, connection) = Connection::new(source, sink, engine, Origin::new("memory"));
//!         tokio::spawn(connection);
//!         peer
//!     };
//!     run(there, server.clone());
//!     let peer = run(here, Arc::new(Router::builder().build().expect("no names, no mistakes")));
//!     async move { Ok::<_, CallError>(peer) }
//! };
//! let client = ReconnectingPeer::new(connect);
//! let sum: i64 = client.peer().call("add", [2, 3]).repeatable().await?;
//! assert_eq!(sum, 5);
//! # Ok(())
//! # }
//! ```

mod backoff;
mod calls;
mod connector;
mod items;
mod loss;
mod policy;
mod queue;
mod shared;
mod state;
mod verdict;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

pub use self::backoff::Backoff;
pub use self::policy::{LostCall, RepeatPolicy};
use self::shared::Shared;
pub use self::state::{ConnectionState, Watch};
use crate::call::Call;
use crate::call_error::CallError;
use crate::peer::{Peer, Remote};
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// How a [`ReconnectingPeer`] behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReconnectOptions {
    /// How attempts to connect follow each other.
    pub backoff: Backoff,
    /// How long one attempt to connect may take: 10 s.
    pub connect_time: Duration,
    /// How long a call waits for a connection, within its own deadline: 30 s. Then it fails with
    /// [`CallError::Unreachable`]; with zero it fails at once. A call whose deadline is before the next attempt to connect
    /// fails without waiting.
    pub connect_wait: Duration,
    /// How many calls may wait for a connection: 1024. Further calls fail with [`CallError::Busy`]. A batch counts as one.
    pub waiting: usize,
    /// Whether each [subscription](crate::Subscription) is subscribed again: yes. If not, only those whose calls are
    /// [repeatable](Call::repeatable) are. Other streams may be results in parts, and subscribing again would run their
    /// methods again. So they are subscribed again only if their calls are repeatable, and end with their connection
    /// otherwise.
    pub resubscribe: bool,
    /// Whether to connect only when there is something to send: no, at once.
    ///
    /// On demand, [`Backoff::attempts`] counts the attempts since the last response. When they are used up, waiting calls fail,
    /// and each new call gets one attempt until a response arrives. The peer is never closed.
    pub on_demand: bool,
    /// Decides whether a call that may have run is sent again: by default the caller does, with [`Call::repeatable`].
    pub repeat: RepeatPolicy,
}

impl Default for ReconnectOptions {
    fn default() -> ReconnectOptions {
        ReconnectOptions {
            backoff: Backoff::default(),
            connect_time: Duration::from_secs(10),
            connect_wait: Duration::from_secs(30),
            waiting: 1024,
            resubscribe: true,
            on_demand: false,
            repeat: RepeatPolicy::default(),
        }
    }
}

impl ReconnectOptions {
    /// Sets [`backoff`](ReconnectOptions::backoff).
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> ReconnectOptions {
        self.backoff = backoff;
        self
    }

    /// Sets [`connect_time`](ReconnectOptions::connect_time).
    #[must_use]
    pub fn with_connect_time(mut self, connect_time: Duration) -> ReconnectOptions {
        self.connect_time = connect_time;
        self
    }

    /// Sets [`connect_wait`](ReconnectOptions::connect_wait).
    #[must_use]
    pub fn with_connect_wait(mut self, connect_wait: Duration) -> ReconnectOptions {
        self.connect_wait = connect_wait;
        self
    }

    /// Sets [`waiting`](ReconnectOptions::waiting).
    #[must_use]
    pub fn with_waiting(mut self, waiting: usize) -> ReconnectOptions {
        self.waiting = waiting;
        self
    }

    /// Sets [`resubscribe`](ReconnectOptions::resubscribe).
    #[must_use]
    pub fn with_resubscribe(mut self, resubscribe: bool) -> ReconnectOptions {
        self.resubscribe = resubscribe;
        self
    }

    /// Sets [`on_demand`](ReconnectOptions::on_demand).
    #[must_use]
    pub fn with_on_demand(mut self, on_demand: bool) -> ReconnectOptions {
        self.on_demand = on_demand;
        self
    }

    /// Sets [`repeat`](ReconnectOptions::repeat).
    #[must_use]
    pub fn with_repeat(mut self, repeat: RepeatPolicy) -> ReconnectOptions {
        self.repeat = repeat;
        self
    }
}

/// A peer that reconnects when its connection breaks; see the [module](self).
#[derive(Clone)]
pub struct ReconnectingPeer(Arc<PeerHandle>);

impl ReconnectingPeer {
    /// Connects with `connect`, and reconnects with it, with the default options.
    ///
    /// Do anything that must happen first on each connection, such as a login, in `connect`: it can call the new peer
    /// before it returns it. The peer should close its connection when it is dropped.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropping it closes the connection"]
    pub fn new<F, R, E>(connect: F) -> ReconnectingPeer
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        ReconnectingPeer::with_options(connect, ReconnectOptions::default())
    }

    /// Like [`new`](ReconnectingPeer::new), with these options.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropping it closes the connection"]
    pub fn with_options<F, R, E>(connect: F, options: ReconnectOptions) -> ReconnectingPeer
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        let shared = Shared::new(options);
        let connector = tokio::spawn(connector::run(Arc::clone(&shared), connect)).abort_handle();
        ReconnectingPeer(Arc::new(PeerHandle { shared, connector }))
    }

    /// The remote peer, over all connections.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer::new(self.clone())
    }

    /// Watches the state of the connection.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch(self.0.shared.watch())
    }
}

impl Service for ReconnectingPeer {
    fn call(&self, call: &Call) -> ReplyFuture {
        calls::call(&self.0, call)
    }
}

impl Remote for ReconnectingPeer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        calls::batch(&self.0, calls)
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        let mut watch = self.watch();
        Box::pin(async move {
            loop {
                if let ConnectionState::Closed(reason) = watch.state() {
                    return reason;
                }
                watch.next().await;
            }
        })
    }
}

impl fmt::Debug for ReconnectingPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = &self.0.shared;
        let state = self.watch().state();
        f.debug_struct("ReconnectingPeer")
            .field("state", &state)
            .field("waiting", &shared.waiting())
            .finish_non_exhaustive()
    }
}

/// What peers, calls and streams hold. When the last of them is gone, everything ends.
struct PeerHandle {
    shared: Arc<Shared>,
    connector: AbortHandle,
}

impl Drop for PeerHandle {
    fn drop(&mut self) {
        self.shared.close(&CallError::Closed("the last handle to it was dropped".into()));
        self.connector.abort();
    }
}

/// What happened, without what it meant for a call.
fn reason(error: CallError) -> Cow<'static, str> {
    match error {
        CallError::Closed(reason) | CallError::Unreachable(reason) => reason,
        other => other.to_string().into(),
    }
}

/// Why nothing is sent after the connector has ended.
const GONE: &str = "the peer no longer reconnects";
