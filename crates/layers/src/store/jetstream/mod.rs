//! A store that several machines share, in a NATS server with JetStream.
//!
//! A [`JetStream`] is the connection; a [`JetStreamStore`] is one bucket of it. A bucket is a stream `KV_NAME` whose subjects are `$KV.NAME.KEY`, as of JetStream's
//! key-value stores, so their tools show it. The server drops entries by the age that the bucket has; a shorter time is part of the value, and every reader checks it by its clock.
//! So clocks of machines that share a store must agree about as well as NTP makes them.
//!
//! Decisions are made by the server: a message is accepted only if the last one under its subject has the expected number. So an insertion takes one round trip.

pub(crate) mod api;
mod bucket;
mod entry;
mod options;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State;

pub use self::bucket::JetStreamStore;
pub use self::options::{JetStreamAuth, JetStreamOptions};
pub use self::watch::JetStreamWatch;
use super::{StoreError, StoreLimits};
use crate::clock::Clock;

/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(5);

/// A connection to a NATS server that keeps stores. Cheap to clone; clones share it. It reconnects until it is dropped.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use switchboard_layers::store::{JetStream, JetStreamOptions, Store, StoreLimits};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let broker = JetStream::connect(JetStreamOptions::new("nats://127.0.0.1:4222")).await?;
/// let nonces = broker.bucket("nonces", Duration::from_secs(600), StoreLimits::default()).await?;
/// let minute = Duration::from_secs(60);
/// assert!(nonces.insert(b"nonce", b"", minute).await?);
/// assert!(!nonces.insert(b"nonce", b"", minute).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct JetStream(pub(crate) Arc<Link>);

/// The connection, and what all its buckets have in common.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) options: JetStreamOptions,
}

impl JetStream {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// If it cannot be reached within 5 seconds, or refuses the credentials.
    pub async fn connect(options: JetStreamOptions) -> Result<JetStream, StoreError> {
        let failed = |error: &dyn fmt::Display| {
            StoreError::Unavailable(format!("cannot connect to {}: {error}", options.url))
        };
        let connecting = options.connect_options().map_err(|error| failed(&error))?;
        let server = options.server().into_owned();
        let client = tokio::time::timeout(CONNECTING, connecting.connect(server));
        match client.await {
            Ok(Ok(client)) => Ok(JetStream(Arc::new(Link { client, options }))),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(failed(&"no answer within 5 s")),
        }
    }

    /// The store with this name, which keeps entries for at most this long. It is created if there is none, and keeps entries longer if it
    /// kept them for a shorter time.
    ///
    /// # Errors
    ///
    /// If the server does not answer, has no JetStream, or refuses to create it.
    pub async fn bucket(
        &self,
        name: &str,
        time: Duration,
        limits: StoreLimits,
    ) -> Result<JetStreamStore, StoreError> {
        self.bucket_with_clock(name, time, limits, Clock::system()).await
    }

    /// The same connection, with other names: those of its buckets begin with this prefix.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> JetStream {
        let Link { client, options } = &*self.0;
        let options = options.clone().with_prefix(prefix);
        JetStream(Arc::new(Link { client: client.clone(), options }))
    }

    /// The same, telling the time by this clock.
    ///
    /// # Errors
    ///
    /// As [`bucket`](JetStream::bucket).
    pub async fn bucket_with_clock(
        &self,
        name: &str,
        time: Duration,
        limits: StoreLimits,
        clock: Clock,
    ) -> Result<JetStreamStore, StoreError> {
        let store = JetStreamStore::new(Arc::clone(&self.0), name, time, limits, clock);
        store.ensure().await.map(|()| store)
    }

    /// The same without asking the server now. The first operation creates it, or fails.
    #[must_use]
    pub fn bucket_later(&self, name: &str, time: Duration, limits: StoreLimits) -> JetStreamStore {
        JetStreamStore::new(Arc::clone(&self.0), name, time, limits, Clock::system())
    }
}

impl Link {
    /// The number of this connection: it grows with each reconnect. An error if there is none, because the client would send the message
    /// later, when its result is of no interest any more.
    pub(crate) fn connection(&self) -> Result<u64, StoreError> {
        match self.client.connection_state() {
            State::Connected => Ok(self.client.statistics().connects.load(Ordering::Relaxed)),
            State::Pending | State::Disconnected => {
                Err(StoreError::Unavailable(format!("not connected to {}", self.options.url)))
            }
        }
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream").field("options", &self.0.options).finish_non_exhaustive()
    }
}
