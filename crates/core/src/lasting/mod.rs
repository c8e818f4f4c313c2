//! A client that survives: a [`Peer`] that connects again when its connection breaks.
//!
//! It is made of a function that connects, by whatever carrier, and is used like any other peer.
//!
//! - **Calls that were not sent** wait for a connection, in order, as long as [`Options::patience`] says.
//! - **Calls under way** when the connection breaks fail with [`CallError::Closed`]: they may or may not have run. Those
//!   that are [repeatable](crate::Call::repeatable) are sent again. So a call runs more than once only if it may, and
//!   always has one outcome.
//! - **Notifications** are sent at most once.
//! - **Subscriptions**, and other streams whose calls are repeatable, come back under the same handle. Where something
//!   may have been lost stands a [`CallError::Gap`]; it does not end the stream. A far side that refuses to begin again
//!   ends it, with its error. All other streams end with their connection.
//! - A far side that shuts down in good order (-32006) is treated as one whose connection broke.
//!
//! Connecting is tried again with growing delays, see [`Backoff`], until it is [refused](DialError::Refused) for good.
//! When the last peer, call and stream is dropped, all ends.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_core::lasting::{DialError, Lasting, Options};
//! use switchboard_core::{Connection, Engine, ErrorObject, Origin, Router, Settings};
//! use switchboard_transport::memory;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server =
//!     Arc::new(Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?);
//! let dial = move || {
//!     let (here, there) = memory::pair(64 << 10);
//!     let run = |(source, sink), service| {
//!         let (peer, connection) =
//!             Connection::new(source, sink, Engine::new(service, Settings::default()), Origin::new("memory"));
//!         tokio::spawn(connection);
//!         peer
//!     };
//!     run(there, server.clone());
//!     let peer = run(here, Arc::new(Router::builder().build().expect("no names, no mistakes")));
//!     async move { Ok::<_, DialError>(peer) }
//! };
//! let lasting = Lasting::new(dial, Options::default());
//! let sum: i64 = lasting.peer().call("add", [2, 3]).repeatable().await?;
//! assert_eq!(sum, 5);
//! # Ok(())
//! # }
//! ```

mod backoff;
mod calls;
mod dial;
mod items;
mod keeper;
mod line;
mod shared;
mod state;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

pub use self::backoff::Backoff;
pub use self::dial::DialError;
use self::line::Place;
use self::shared::{Many, Shared};
pub use self::state::{State, Watch};
use crate::call::Call;
use crate::call_error::CallError;
use crate::peer::{Peer, Remote};
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// How a lasting peer behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How attempts to connect follow each other.
    pub backoff: Backoff,
    /// How long one attempt may take: 10 s.
    pub dial_time: Duration,
    /// How long a call waits for a connection, within its own time: 30 s. Then it fails with
    /// [`CallError::Unreachable`]; with zero it does so at once.
    pub patience: Duration,
    /// How many calls may wait for a connection: 1024. One more fails with [`CallError::Busy`]. A batch counts as one.
    pub waiting: usize,
    /// Whether every [subscription](crate::Subscription) comes back: yes. If not, only those whose calls are
    /// [repeatable](Call::repeatable) do. Other streams may be results in parts, and to ask for one again runs its method
    /// again: they come back only if their calls are repeatable, and end with their connection otherwise.
    pub resubscribe: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            backoff: Backoff::default(),
            dial_time: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            waiting: 1024,
            resubscribe: true,
        }
    }
}

/// A connection that is made again when it breaks; see the [module](self).
#[derive(Clone)]
pub struct Lasting(Arc<Kept>);

impl Lasting {
    /// Begins to connect with `dial`, and keeps connecting with it.
    ///
    /// What must happen first on each connection, such as logging in, belongs into `dial`: it can call the new peer before
    /// it gives it. The peer it gives should end its connection when it is dropped.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropping it ends the connection"]
    pub fn new<F, R, E>(dial: F, options: Options) -> Lasting
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<DialError> + Send + 'static,
    {
        let shared = Shared::new(options);
        let keeper = tokio::spawn(keeper::keep(Arc::clone(&shared), dial)).abort_handle();
        Lasting(Arc::new(Kept { shared, keeper }))
    }

    /// The far side, through every connection to come.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer::new(self.clone())
    }

    /// How it stands with the connection, now and later.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch(self.0.shared.watch())
    }
}

impl Service for Lasting {
    fn call(&self, call: &Call) -> ReplyFuture {
        calls::call(&self.0, call.clone())
    }
}

impl Remote for Lasting {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let sending = self.0.shared.send(Many(calls.clone()), Place::Call);
        let kept = Arc::clone(&self.0);
        Box::pin(async move { calls::batch(&kept, &calls, sending).await })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        let mut watch = self.watch();
        Box::pin(async move {
            loop {
                if let State::Closed(reason) = watch.state() {
                    return reason;
                }
                watch.next().await;
            }
        })
    }
}

impl fmt::Debug for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = &self.0.shared;
        let state = self.watch().state();
        f.debug_struct("Lasting")
            .field("state", &state)
            .field("waiting", &shared.waiting())
            .finish_non_exhaustive()
    }
}

/// What peers, calls and streams hold; when the last of them is gone, all ends.
struct Kept {
    shared: Arc<Shared>,
    keeper: AbortHandle,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shared.close(&CallError::Closed("the last handle to it was dropped".into()));
        self.keeper.abort();
    }
}
