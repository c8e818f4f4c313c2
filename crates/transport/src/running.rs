//! A connection that runs as long as its peer is in use. Every client of a duplex transport uses it.

use std::future::Future;

use switchboard_core::{Connection, ConnectionError, Peer};

/// Runs a connection as a task, and returns its peer.
///
/// When the last clone of the peer is dropped, and with it every reply and stream it produced, the connection is drained:
/// calls from the other side are answered, queued messages are sent, then it closes. A failure is logged, and returned to the
/// waiting calls.
///
/// # Panics
///
/// Outside of a tokio runtime.
#[must_use = "the connection ends when its peer is dropped"]
pub fn run(connection: Connection) -> Peer {
    let peer = connection.owning_peer();
    tokio::spawn(log_end(connection));
    peer
}

/// Runs a connection to its end and logs how it failed, if it did.
pub(crate) async fn log_end(connection: impl Future<Output = Result<(), ConnectionError>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended");
    }
}
