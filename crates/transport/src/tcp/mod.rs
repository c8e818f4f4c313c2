//! TCP: any framing over a socket.

mod carrier;

use std::io;
use std::sync::Arc;

use switchboard_core::{Connection, Origin, Peer, Service};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::timeout;

pub(crate) use self::carrier::TcpCarrier;
use crate::running;
use crate::stream::{self, Options};

/// Connects to a server; answers what it asks with `service`.
///
/// The connection lasts as long as the peer does, see [`running::run`].
///
/// # Errors
///
/// When nobody answers there within [`connect_time`](Options::connect_time).
pub async fn connect(
    address: impl ToSocketAddrs,
    service: Arc<dyn Service>,
    options: &Options,
) -> io::Result<Peer> {
    let stream = match timeout(options.connect_time, TcpStream::connect(address)).await {
        Ok(stream) => stream?,
        Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody answered in time")),
    };
    Ok(running::run(connection(stream, service, options)?))
}

/// A connection over a socket that was accepted or connected.
///
/// # Errors
///
/// When the socket is not connected any more.
pub fn connection(stream: TcpStream, service: Arc<dyn Service>, options: &Options) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    let origin = Origin::new("tcp").with_address(stream.peer_addr()?);
    Ok(stream::connection(stream.into_split(), service, origin, options))
}
