//! One server for any number of listeners: it accepts connections, enforces limits on them, and shuts down gracefully.
//!
//! [`Server`] listens at URLs, or takes a [`Listener`] of yours. Every connection holds a [`ConnectionPermit`], sees the request
//! to [shut down](Shutdown), and runs in a task that the server owns. What is said over a connection is up to its transport.

mod accept;
mod error;
mod limit;
mod listener;
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
pub use self::error::ListenError;
pub use self::listener::{Accepted, BoxFuture, Listener};
pub use self::options::ServerOptions;
pub use self::permit::ConnectionPermit;
#[cfg(feature = "http")]
pub(crate) use self::permit::ServerState;
#[cfg(feature = "http")]
pub(crate) use self::refuse::linger;
pub use self::refuse::refuse_and_close;
pub use self::server::{Server, serve};
pub use self::shutdown::Shutdown;
pub use crate::budget::Share;

/// Shuts a server down. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Shutdown>);

impl Handle {
    pub(crate) fn new(shutdown: &Arc<Shutdown>) -> Handle {
        Handle(Arc::clone(shutdown))
    }

    /// Asks the server to shut down. Requests and connections that have arrived are still accepted, later ones are not. Calls
    /// under way may finish within [`drain_time`](switchboard_core::Limits::drain_time) and are cancelled then. The future that
    /// serves ends when all of that is done.
    pub fn shutdown(&self) {
        self.0.request();
    }
}
