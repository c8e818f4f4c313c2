//! WebSocket (RFC 6455), both ways: hops ① and ⑥ of every call over it.
//!
//! - The server is part of the one for HTTP: a request that asks for it is upgraded, on the RPC paths and at
//!   `/rpc/ws`, see [`http::Options::websocket`](crate::http::Options::websocket).
//! - [`connect`] opens a connection and gives its far side.
//! - [`accept()`] does the server's part of the handshake for those who have a listener of their own.
//!
//! A message holds one JSON-RPC message or batch. It is text, or binary if the far side's last one was (JT-01).
//! The frames are our own: one read gives many messages, one write takes many, and an idle connection has no buffers.
//!
//! What this does not do: compression, or WebSocket over HTTP/2.

mod accept;
mod carrier;
mod client;
mod clock;
mod close;
mod decoder;
mod ending;
mod frame;
mod handshake;
mod masks;
mod options;
mod shared;
mod sink;
mod source;

use std::sync::Arc;

use bytes::BytesMut;
use switchboard_core::{Connection, Engine, Origin, Peer, Service, Settings};

pub use accept::{AcceptError, accept};
pub(crate) use carrier::WsCarrier;
pub use client::{ClientOptions, ConnectError, connect, connect_over};
pub use close::{Close, CloseCode, Violation};
pub use decoder::{Decoder, Received};
pub use ending::Ending;
pub use frame::{Kind, Role};
pub use handshake::HandshakeError;
pub(crate) use handshake::{Agreement, asks_for_websocket};
pub use options::Options;
pub use shared::Stream;
pub use sink::Sink;
pub use source::Source;

/// The two halves of a connection whose handshake is done, and what ends it. Messages have up to `limit` bytes.
///
/// `unread` was read behind the handshake already; `unsent` is still to be written before anything else.
pub(crate) fn open<S: Stream>(
    io: S,
    role: Role,
    limit: usize,
    (unread, unsent): (BytesMut, Vec<u8>),
    options: &Options,
) -> (Source<S>, Sink<S>, Ending<S>) {
    let shared = Arc::new(shared::Shared::new(io, role));
    let source = Source::new(Arc::clone(&shared), Decoder::new(role, limit), unread, options);
    let sink = Sink::new(Arc::clone(&shared), unsent);
    (source, sink, Ending::new(shared, options.close_time))
}

/// A connection over a socket whose handshake is done.
pub(crate) fn start<S: Stream>(
    io: S,
    role: Role,
    rest: (BytesMut, Vec<u8>),
    service: Arc<dyn Service>,
    origin: Origin,
    settings: Arc<Settings>,
    options: &Options,
) -> (Peer, Connection, Ending<S>) {
    let (source, sink, ending) = open(io, role, settings.limits.longest_frame(), rest, options);
    let (peer, connection) = Connection::new(source, sink, Engine::new(service, settings), origin);
    (peer, connection, ending)
}
