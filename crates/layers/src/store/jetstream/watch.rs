//! Changes of a key.

use std::time::Duration;

use async_nats::Subscriber;

use super::{Link, StoreError};

/// After this time a watcher looks whether or not it was told: a message may be lost while the client reconnects.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Tells when a key may have another value. See [`JetStreamStore::watch`](super::JetStreamStore::watch).
#[derive(Debug)]
pub struct JetStreamWatch(Subscriber);

impl JetStreamWatch {
    pub(super) async fn new(link: &Link, subject: String) -> Result<JetStreamWatch, StoreError> {
        let subscribed = link.client.subscribe(subject).await;
        subscribed.map(JetStreamWatch).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// Waits until the key may have changed: when a value was written, and every ten seconds.
    pub async fn changed(&mut self) {
        let next =
            std::future::poll_fn(|cx| futures_core::Stream::poll_next(std::pin::Pin::new(&mut self.0), cx));
        if let Ok(None) = tokio::time::timeout(LOOK_AGAIN, next).await {
            // The client has ended, which only happens with the program.
            std::future::pending::<()>().await;
        }
    }
}
