//! A carrier as the tests see it: something that takes a message and may bring messages back.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};

/// A way from a client to a service.
pub trait Carrier: Sync {
    /// The name that a transcript's `carriers` directive uses.
    fn name(&self) -> &'static str;

    /// Whether both sides may send at any time. Then a response that answers no call is dropped and not refused
    /// (J2-50).
    fn is_duplex(&self) -> bool {
        false
    }

    /// Serves `service` with these settings, and gives the client's end.
    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>>;
}

/// The client's end of a carrier.
pub trait Line: Send {
    /// Sends one message, as one frame or body, and waits until all that it brings back is here.
    ///
    /// Where a frame says nothing about how many follow, send a call of `marker` after it and collect what comes before
    /// the marker's answer, or let paused time tell that all is quiet.
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard>;
}

/// What one message brought back.
#[derive(Debug)]
pub enum Heard {
    /// These messages, often one, in the order they came.
    Messages(Vec<Bytes>),
    /// A refusal by the carrier's own means: it closed the connection or answered with an HTTP error status.
    Refused,
    /// The carrier cannot do this, and why. The step does not count.
    Unable(&'static str),
}
