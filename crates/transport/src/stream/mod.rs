//! Any stream of bytes as a connection: parts of hops ① and ⑥.
//!
//! One read yields many frames, one write carries many answers. Idle, a connection holds one small buffer.

mod sink;
mod source;

use std::sync::Arc;
use std::time::Duration;

pub use sink::Sink;
pub use source::Source;
use switchboard_core::{Answer, Connection, Engine, ErrorObject, Origin, Service, Settings};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::budget::Budget;
use crate::framing::Framing;
use crate::server::{BoxFuture, ConnectionPermit, Shutdown, refuse_and_close};

/// What is to be known about a stream before it can carry messages.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How messages are told apart: by their JSON, if nobody says otherwise.
    pub framing: Framing,
    /// Limits and dialect.
    pub settings: Arc<Settings>,
    /// How long a message may take to arrive once it has begun: 60 s. Then the connection ends (SEC-L-01).
    pub message_time: Duration,
    /// How long nothing may be read or written: without end by default. Then the connection is drained and closed, as
    /// if the far side had finished.
    pub idle_time: Option<Duration>,
    /// How long a client tries to connect: 10 s.
    pub connect_time: Duration,
    /// What bounds the long messages of all connections of a server together.
    budget: Option<Arc<Budget>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            framing: Framing::default(),
            settings: Arc::default(),
            message_time: Duration::from_secs(60),
            idle_time: None,
            connect_time: Duration::from_secs(10),
            budget: None,
        }
    }
}

impl Options {
    /// The defaults, with this framing.
    #[must_use]
    pub fn new(framing: Framing) -> Options {
        Options { framing, ..Options::default() }
    }

    /// The same options with these limits and this dialect.
    #[must_use]
    pub fn with_settings(mut self, settings: impl Into<Arc<Settings>>) -> Options {
        self.settings = settings.into();
        self
    }

    /// The same options with this time for a message to arrive.
    #[must_use]
    pub fn with_message_time(mut self, time: Duration) -> Options {
        self.message_time = time;
        self
    }

    /// The same options with this time without a byte either way.
    #[must_use]
    pub fn with_idle_time(mut self, time: Option<Duration>) -> Options {
        self.idle_time = time;
        self
    }

    /// The same options with this time to connect.
    #[must_use]
    pub fn with_connect_time(mut self, time: Duration) -> Options {
        self.connect_time = time;
        self
    }
}

impl Options {
    /// The same options for a connection of a server: with its limits and dialect, its idle time, and its budget for long
    /// messages.
    #[must_use]
    pub fn within(mut self, permit: &ConnectionPermit) -> Options {
        self.settings = Arc::clone(permit.settings());
        self.idle_time = permit.options().stream_idle_time;
        self.budget = Some(Arc::clone(permit.budget()));
        self
    }
}

/// The frames of a stream.
pub fn frames<R, W>(reader: R, writer: W, options: &Options) -> (Source<R>, Sink<W>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let sink = Sink::new(writer, options.framing);
    let source = Source::new(reader, options, sink.activity());
    (source, sink)
}

/// A connection over a stream, which answers with `service`. Await it or spawn it; a server takes its
/// [session](Connection::session), to close it, a client lets [`running::run`](crate::running::run) run it.
pub fn connection<R, W>(
    (reader, writer): (R, W),
    service: Arc<dyn Service>,
    origin: Origin,
    options: &Options,
) -> Connection
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (source, sink) = frames(reader, writer, options);
    let engine = Engine::new(service, Arc::clone(&options.settings));
    Connection::new(source, sink, engine, origin).1
}

/// Sends an error and closes, for [`Accepted::refuse`](crate::server::Accepted::refuse) of transports over streams of bytes.
pub fn refuse(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    error: &ErrorObject,
    framing: Framing,
    shutdown: Arc<Shutdown>,
) -> BoxFuture<'static, ()> {
    let mut message = Vec::new();
    if let Some(body) = Answer::refusal(error).body() {
        framing.encode(body, &mut message);
    }
    Box::pin(async move { refuse_and_close(io, &message, &shutdown).await })
}
