//! One server for any number of listeners: it accepts connections, enforces limits on them, and shuts down gracefully.
//!
//! [`Server`] listens on URLs, or uses your own [`Listener`]. Every connection holds a [`ConnectionPermit`], sees the request
//! to [shut down](Shutdown), and runs in a task that the server owns. The transport defines the protocol of a connection.

mod accept;
mod cidr;
mod error;
mod file_limit;
mod idle;
mod limit;
mod listener;
#[cfg(all(unix, any(feature = "tcp", feature = "http", feature = "unix")))]
mod listening_socket;
mod options;
mod permit;
mod refuse;
#[expect(clippy::module_inception, reason = "the server is what this module is about")]
mod server;
mod shutdown;
mod tasks;

use std::sync::Arc;

#[cfg(feature = "http")]
pub(crate) use self::accept::{CANCEL_TIME, run};
pub use self::cidr::{Cidr, CidrError};
pub use self::error::ListenError;
pub use self::file_limit::raise_file_limit;
#[cfg(feature = "ws")]
pub(crate) use self::idle::IdleWatch;
pub use self::listener::{Accepted, BoxFuture, Listener};
#[cfg(all(unix, any(feature = "tcp", feature = "http", feature = "unix")))]
pub use self::listening_socket::ListeningSocket;
pub use self::options::ServerOptions;
pub use self::permit::ConnectionPermit;
#[cfg(feature = "http")]
pub(crate) use self::permit::ServerState;
#[cfg(feature = "http")]
pub(crate) use self::refuse::linger;
pub use self::refuse::refuse_and_close;
pub use self::server::{Server, serve};
pub use self::shutdown::Shutdown;

/// Shuts a server down. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Shutdown>);

impl Handle {
    pub(crate) fn new(shutdown: &Arc<Shutdown>) -> Handle {
        Handle(Arc::clone(shutdown))
    }

    /// Starts a graceful shutdown. Requests and connections that have arrived are still accepted, later ones are not. Calls
    /// in flight may finish within [`drain_time`](switchboard_core::Limits::drain_time) and are cancelled then. The future that
    /// serves ends when all of that is done.
    pub fn shutdown(&self) {
        self.0.request();
    }

    /// Waits until a shutdown has begun.
    pub async fn requested(&self) {
        self.0.wait().await;
    }

    /// Leaves the listening sockets to another process, which has them, and shuts down. No more connections are accepted. For a second,
    /// connections that are open are served as before, except that HTTP/1.1 connections close after their next response; then the
    /// [shutdown](Handle::shutdown) begins. The files of Unix sockets are not removed.
    pub fn hand_over(&self) {
        self.0.hand_over();
    }
}
