//! WebSocket (RFC 6455), server and client: hops ① and ⑥ of every call over it.
//!
//! - The server is part of the HTTP server: upgrade requests are accepted on the RPC paths, at `/rpc/ws`
//!   and at `/ws`, see [`http::EndpointOptions::websocket`](crate::http::EndpointOptions::websocket).
//! - [`connect`] opens a connection and returns its peer.
//! - [`accept()`] does the server's part of the handshake, for programs with their own listener.
//!
//! A message holds one JSON-RPC message or batch. It is text, or binary if the peer's last one was (JT-01).
//! The frames are our own: one read yields many messages, one write carries many, and an idle connection has no buffers.
//!
//! It does not do compression, or WebSocket over HTTP/2.

mod accept;
mod carrier;
mod client;
mod clock;
mod close;
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
pub(crate) mod decoder;
mod ending;
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
pub(crate) mod frame;
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
pub use client::{ConnectError, WebSocketClientOptions, connect, connect_frames, connect_over};
pub use close::{Close, CloseCode, Violation};
use decoder::MessageDecoder;
pub use ending::Ending;
pub(crate) use frame::Role;
pub use handshake::HandshakeError;
pub(crate) use handshake::{Agreement, asks_for_websocket};
pub use options::WebSocketOptions;
pub use shared::DuplexIo;
pub use sink::WebSocketSink;
pub use source::WebSocketSource;

/// The two halves of a connection whose handshake is done, and what ends it. Messages have up to `limit` bytes.
///
/// `unread` was read behind the handshake already; `unsent` is still to be written before anything else.
pub(crate) fn open<S: DuplexIo>(
    io: S,
    role: Role,
    limit: usize,
    (unread, unsent): (BytesMut, Vec<u8>),
    options: &WebSocketOptions,
) -> (WebSocketSource<S>, WebSocketSink<S>, Ending<S>) {
    let shared = Arc::new(shared::Shared::new(io, role));
    let source = WebSocketSource::new(Arc::clone(&shared), MessageDecoder::new(role, limit), unread, options);
    let sink = WebSocketSink::new(Arc::clone(&shared), unsent);
    (source, sink, Ending::new(shared, options.close_time))
}

/// A connection over a socket whose handshake is done.
pub(crate) fn start<S: DuplexIo>(
    io: S,
    role: Role,
    rest: (BytesMut, Vec<u8>),
    service: Arc<dyn Service>,
    origin: Origin,
    settings: Arc<Settings>,
    options: &WebSocketOptions,
) -> (Peer, Connection, Ending<S>) {
    let (source, sink, ending) = open(io, role, settings.limits.longest_frame(), rest, options);
    let (peer, connection) = Connection::new(source, sink, Engine::new(service, settings), origin);
    (peer, connection, ending)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use switchboard_core::{FrameSink, FrameSource};
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::ws::frame::Opcode;

    // RFC 6455, 5.5.3
    #[tokio::test]
    async fn ten_pings_in_one_read_get_one_pong_for_the_last() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let mut pings = Vec::new();
        for number in 0..10 {
            frame::write(&mut pings, Opcode::Ping, Some([7; 4]), &[number; 125]);
        }
        let rest = (BytesMut::from(&pings[..]), Vec::new());
        let (mut source, mut sink, _ending) =
            open(server, Role::Server, 1 << 10, rest, &WebSocketOptions::default());
        poll_fn(|cx| {
            assert!(source.poll_frame(cx).is_pending());
            assert!(matches!(sink.poll_flush(cx), Poll::Ready(Ok(()))));
            Poll::Ready(())
        })
        .await;
        drop((source, sink));
        let mut pong = Vec::new();
        frame::write(&mut pong, Opcode::Pong, None, &[9; 125]);
        let mut said = vec![0; pong.len()];
        client.read_exact(&mut said).await.unwrap();
        assert_eq!(said, pong);
        assert!(poll_fn(|cx| Poll::Ready(is_silent(&mut client, cx))).await);
    }

    fn is_silent(stream: &mut tokio::io::DuplexStream, cx: &mut std::task::Context<'_>) -> bool {
        let mut byte = [0];
        let mut more = tokio::io::ReadBuf::new(&mut byte);
        tokio::io::AsyncRead::poll_read(std::pin::Pin::new(stream), cx, &mut more).is_pending()
    }
}
