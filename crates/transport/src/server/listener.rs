//! Sources of connections: the contract between a server and a transport.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_core::ErrorObject;

use super::permit::ConnectionPermit;
use super::shutdown::Shutdown;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of connections. [`Server::add_listener`](super::Server::add_listener) accepts any, from this crate or another.
///
/// The server accepts, counts and refuses connections, hands out permits, and drains; the listener knows the protocol of each
/// connection.
///
/// # Examples
///
/// Connections that another part of the program hands over, with one message per line:
///
/// ```
/// # #[cfg(feature = "stream")]
/// # mod example {
/// use std::io;
/// use std::net::SocketAddr;
/// use std::sync::{Arc, Mutex};
/// use std::task::{Context, Poll, ready};
///
/// use switchboard_core::{ErrorObject, Origin};
/// use switchboard_transport::framing::Framing;
/// use switchboard_transport::server::{Accepted, BoxFuture, ConnectionPermit, Listener, Shutdown};
/// use switchboard_transport::stream;
/// use tokio::io::DuplexStream;
/// use tokio::sync::mpsc;
///
/// struct Handed(Mutex<mpsc::Receiver<DuplexStream>>);
///
/// impl Listener for Handed {
///     fn url(&self) -> String {
///         "handed".to_owned()
///     }
///
///     fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
///         match ready!(self.0.lock().unwrap().poll_recv(cx)) {
///             Some(stream) => Poll::Ready(Ok(Box::new(One(stream)))),
///             None => Poll::Pending,
///         }
///     }
/// }
///
/// struct One(DuplexStream);
///
/// impl Accepted for One {
///     fn address(&self) -> Option<SocketAddr> {
///         None
///     }
///
///     fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
///         let options = stream::StreamOptions::new(Framing::Lines).within(&permit);
///         let service = Arc::clone(permit.service());
///         let halves = tokio::io::split(self.0);
///         let connection = stream::connection(halves, service, Origin::new("handed"), &options);
///         Box::pin(async move { permit.run(connection).await })
///     }
///
///     fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
///         stream::refuse(self.0, error, Framing::Lines, shutdown)
///     }
/// }
/// # }
/// ```
pub trait Listener: Send + Sync + 'static {
    /// Its URL, for [`Server::urls`](super::Server::urls).
    fn url(&self) -> String;

    /// The next connection.
    ///
    /// # Errors
    ///
    /// When it cannot accept connections at the moment. The server logs it and tries again after a pause.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>>;

    /// Work to do while the server accepts connections, such as reloading certificates. It is dropped when the server
    /// shuts down.
    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Its socket, if another process could accept its connections.
    #[cfg(unix)]
    fn socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Another process uses the socket now: nothing that belongs to it is to be removed.
    fn hand_over(&self) {}
}

/// An accepted connection that waits for the server's decision. The server calls [`serve`](Accepted::serve) or
/// [`refuse`](Accepted::refuse), or drops it.
pub trait Accepted: Send + 'static {
    /// The caller's network address, if it has one. It counts towards
    /// [`connections_per_address`](super::ServerOptions::connections_per_address).
    fn address(&self) -> Option<SocketAddr>;

    /// Serves the connection until it ends. The future must end when [`shutdown`](ConnectionPermit::shutdown) is requested and
    /// the calls in flight are answered; [`ConnectionPermit::run`] does that.
    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()>;

    /// Tells the caller why it is refused, if the protocol has a way, and closes the connection. It is dropped without
    /// notice if too many are being refused.
    fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()>;
}
