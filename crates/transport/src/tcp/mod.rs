//! TCP: any framing over a socket.

mod carrier;

use std::io;
use std::sync::Arc;

use switchboard_core::{Connection, Origin, Peer, Service};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::timeout;

pub(crate) use self::carrier::TcpCarrier;
use crate::keep_alive;
use crate::running;
use crate::stream::{self, StreamOptions};

/// Connects to a server; `service` answers its calls.
///
/// The connection lasts as long as the peer does, see [`running::run`].
///
/// # Errors
///
/// When there is no connection within [`connect_time`](StreamOptions::connect_time).
pub async fn connect(
    address: impl ToSocketAddrs,
    service: Arc<dyn Service>,
    options: &StreamOptions,
) -> io::Result<Peer> {
    let stream = match timeout(options.connect_time, TcpStream::connect(address)).await {
        Ok(stream) => stream?,
        Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no connection in time")),
    };
    Ok(running::run(connection(stream, service, options)?))
}

/// A connection over an accepted or connected socket.
///
/// # Errors
///
/// When the socket is no longer connected.
pub fn connection(
    stream: TcpStream,
    service: Arc<dyn Service>,
    options: &StreamOptions,
) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    keep_alive::switch_on(&stream);
    let origin = Origin::new("tcp").with_address(stream.peer_addr()?);
    Ok(stream::connection(stream.into_split(), service, origin, options))
}
