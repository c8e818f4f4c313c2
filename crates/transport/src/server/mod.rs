//! Listening: accepts connections at any number of doors, refuses those that are too many, and ends in good order.
//!
//! Whatever is accepted has a seat, sees the signal to stop, and runs in a task that the server owns. What is said over
//! a connection is the business of its protocol.

mod accept;
mod door;
mod error;
mod guest;
#[cfg(feature = "tls")]
mod handshake;
mod many;
mod options;
mod seats;
mod stop;
#[cfg(feature = "stream")]
mod streams;
mod tasks;

use std::sync::Arc;

pub(crate) use self::accept::run;
pub(crate) use self::door::{Door, http_refusal, say_and_close};
pub use self::error::ListenError;
pub(crate) use self::guest::Guest;
pub use self::many::{Server, serve};
pub use self::options::ServerOptions;
pub(crate) use self::stop::Stop;

/// Stops a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Stop>);

impl Handle {
    pub(crate) fn new(stop: &Arc<Stop>) -> Handle {
        Handle(Arc::clone(stop))
    }

    /// Tells the server to stop. Requests and connections that have arrived are still taken, later ones are not; what
    /// was taken may finish within [`drain_time`](switchboard_core::Limits::drain_time), and is cancelled then. The future
    /// that serves ends when all that is done.
    pub fn shutdown(&self) {
        self.0.give();
    }
}
