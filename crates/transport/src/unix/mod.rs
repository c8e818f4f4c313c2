//! Unix sockets: any framing over a socket in the file system, with the caller's credentials in every call.

mod carrier;
mod credentials;
mod listener;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use carrier::UnixCarrier;
pub use credentials::peer_credentials;
pub use listener::UnixSocketListener;
pub use switchboard_core::PeerCredentials;
use switchboard_core::{Connection, Origin, Peer, Service};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::running;
use crate::stream::{self, StreamOptions};

/// Connects to the server that listens on this path; `service` answers its calls.
///
/// The connection lasts as long as the peer does, see [`running::run`].
///
/// # Errors
///
/// When nothing listens there, or there is no connection within [`connect_time`](StreamOptions::connect_time).
pub async fn connect(
    path: impl AsRef<Path>,
    service: Arc<dyn Service>,
    options: &StreamOptions,
) -> io::Result<Peer> {
    let path = path.as_ref();
    let stream = match timeout(options.connect_time, UnixStream::connect(path)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(at(path, &error)),
        Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no connection in time")),
    };
    Ok(running::run(connection(stream, service, options)))
}

/// A connection over an accepted or connected socket. The context of its calls has the peer's [`PeerCredentials`], if the
/// system provides them.
pub fn connection(stream: UnixStream, service: Arc<dyn Service>, options: &StreamOptions) -> Connection {
    let mut origin = Origin::new("unix");
    if let Some(credentials) = peer_credentials(&stream) {
        origin = origin.with_extension(credentials);
    }
    stream::connection(stream.into_split(), service, origin, options)
}

/// The error with the path it is about.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
