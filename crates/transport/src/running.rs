//! A connection that runs for as long as somebody holds its peer. Every client of a duplex carrier is this.

use std::future::Future;

use switchboard_core::{Connection, ConnectionError, Peer};

/// Runs a connection as a task, and gives its far side.
///
/// When the last clone of the peer is gone, and with it every reply and stream that came of it, the connection is drained:
/// what the far side asked for is answered, what was queued is sent, then it closes. A failure is logged, and told to the
/// calls that wait.
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
