//! A carrier as the tests see it: something that takes a message and may bring messages back.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};
use tokio::runtime::{Builder, Runtime};

/// A way from a client to a service.
pub trait Carrier: Sync {
    /// Its name, for whoever reads failures.
    fn name(&self) -> &'static str;

    /// Which kind of carrier it is. A transcript may be for some kinds only.
    fn kind(&self) -> Kind;

    /// How time goes by in its tests: paused, unless it says otherwise.
    fn time(&self) -> Time {
        Time::Paused
    }

    /// Whether calls reach the service in the version that they were written in. A proxy writes them in its upstream's.
    fn keeps_version(&self) -> bool {
        true
    }

    /// Which kind of carrier leads to the service: another one behind a proxy.
    fn inner_kind(&self) -> Kind {
        self.kind()
    }

    /// Serves `service` with these settings, and gives the client's end.
    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>>;
}

/// What a carrier can do, and so what some answers look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is no driver: the service is called as it is.
    Direct,
    /// Each message has one answer. Streams are collected, and a stray response is an invalid request (J2-50).
    OneAnswer,
    /// Each message has one answer in parts. Each item of a stream is a response, and a stray response is an invalid
    /// request (J2-50).
    Events,
    /// Both sides may send at any time. Items of streams follow the answer, and a stray response is dropped (J2-50).
    Duplex,
}

/// How time goes by in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// It stands still, and jumps ahead when nothing is left to do.
    Paused,
    /// As it does. What waits for a socket needs this: a paused clock would take that for having nothing to do.
    Real,
}

impl Time {
    /// A runtime in which time goes by like this.
    ///
    /// # Panics
    ///
    /// When the system has no more files to open.
    #[must_use]
    pub fn runtime(self) -> Runtime {
        let is_paused = self == Time::Paused;
        Builder::new_current_thread().enable_all().start_paused(is_paused).build().expect("a runtime starts")
    }
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
