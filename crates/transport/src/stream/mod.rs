//! Any byte stream as a connection: parts of hops ① and ⑥.
//!
//! One read yields many frames, one write carries many responses. An idle connection holds one small buffer.

mod sink;
mod source;

use std::sync::Arc;
use std::time::Duration;

pub use sink::StreamSink;
pub use source::StreamSource;
use switchboard_core::{
    Account, Answer, Connection, Engine, ErrorObject, Origin, Service, Session, Settings,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::framing::Framing;
use crate::server::{BoxFuture, ConnectionPermit, Shutdown, refuse_and_close};

/// The options of a connection over a byte stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamOptions {
    /// How messages are separated: by their JSON, by default.
    pub framing: Framing,
    /// Limits and dialect.
    pub settings: Arc<Settings>,
    /// How long a message may take to arrive once it has started: 60 s. Then the connection ends (SEC-L-01).
    pub message_time: Duration,
    /// How long the peer may take to send its first byte, unless this side has sent something before: no limit by
    /// default. Then the connection is closed.
    pub first_byte_time: Option<Duration>,
    /// How long a client tries to connect: 10 s.
    pub connect_time: Duration,
    /// Bounds the memory that messages use.
    account: Option<Arc<Account>>,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions {
            framing: Framing::default(),
            settings: Arc::default(),
            message_time: Duration::from_secs(60),
            first_byte_time: None,
            connect_time: Duration::from_secs(10),
            account: None,
        }
    }
}

impl StreamOptions {
    /// The default options, with this framing.
    #[must_use]
    pub fn new(framing: Framing) -> StreamOptions {
        StreamOptions { framing, ..StreamOptions::default() }
    }

    /// Sets the limits and the dialect.
    #[must_use]
    pub fn with_settings(mut self, settings: impl Into<Arc<Settings>>) -> StreamOptions {
        self.settings = settings.into();
        self
    }

    /// Sets [`message_time`](StreamOptions::message_time).
    #[must_use]
    pub fn with_message_time(mut self, time: Duration) -> StreamOptions {
        self.message_time = time;
        self
    }

    /// Sets [`first_byte_time`](StreamOptions::first_byte_time).
    #[must_use]
    pub fn with_first_byte_time(mut self, time: Option<Duration>) -> StreamOptions {
        self.first_byte_time = time;
        self
    }

    /// Sets [`connect_time`](StreamOptions::connect_time).
    #[must_use]
    pub fn with_connect_time(mut self, time: Duration) -> StreamOptions {
        self.connect_time = time;
        self
    }
}

impl StreamOptions {
    /// Adapts the options to a connection of a server: its limits and dialect, its time for the first byte, and its memory
    /// for messages. For one connection only: each has its own account.
    #[must_use]
    pub fn within(mut self, permit: &ConnectionPermit) -> StreamOptions {
        self.settings = Arc::clone(permit.settings());
        self.first_byte_time = permit.options().first_byte_time;
        self.account = Some(Arc::clone(permit.account()));
        self
    }
}

/// The frames of a byte stream.
pub fn frames<R, W>(reader: R, writer: W, options: &StreamOptions) -> (StreamSource<R>, StreamSink<W>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let sink = StreamSink::new(writer, options.framing);
    let source = StreamSource::new(reader, options, sink.has_written());
    (source, sink)
}

/// A connection over a byte stream, whose calls are answered by `service`. Await it or spawn it; a server keeps its
/// [session](Connection::session) to close it, a client passes it to [`running::run`](crate::running::run).
///
/// A peer that has shut down its sending side may still read: calls in flight are answered, and streams continue for up to
/// [`drain_time`](switchboard_core::Limits::drain_time) and then end with -32006.
pub fn connection<R, W>(
    (reader, writer): (R, W),
    service: Arc<dyn Service>,
    origin: Origin,
    options: &StreamOptions,
) -> Connection
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (source, sink) = frames(reader, writer, options);
    let engine = Engine::new(service, Arc::clone(&options.settings));
    let session = Session::new(origin);
    if let Some(account) = &options.account {
        session.set_account(Arc::clone(account));
    }
    let (_, mut connection) = Connection::new(source, sink, engine, session);
    connection.finish_streams();
    connection
}

/// Sends an error and closes, for [`Accepted::refuse`](crate::server::Accepted::refuse) of byte-stream transports.
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
