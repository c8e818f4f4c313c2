//! Event streams: our server on a port of its own, and requests over sockets that no client of ours writes.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::serve;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};
use crate::wire::{Received, Wire};

/// One POST for each message, whose answer is an event stream, over a connection of its own.
#[derive(Debug)]
pub struct Sse;

impl Carrier for Sse {
    fn name(&self) -> &'static str {
        "sse"
    }

    fn kind(&self) -> Kind {
        Kind::Events
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            let (address, serving) = serve(service, settings).await;
            Box::new(Open { address, _serving: serving }) as Box<dyn Line>
        })
    }
}

struct Open {
    address: SocketAddr,
    /// Ends the server when the line is dropped.
    _serving: JoinSet<()>,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            let mut wire = Wire::new(TcpStream::connect(self.address).await.expect("the server listens"));
            let head = format!(
                "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
                 accept: text/event-stream\r\nconnection: close\r\n",
                self.address
            );
            // A server that refuses may stop reading; its answer counts.
            let _ = wire.send(&head, &message).await;
            wire.receive_all().await.map_or(Heard::Refused, |received| heard(&received))
        })
    }
}

/// The messages in a response. A refusal of HTTP holds an error object, which is a message like any other.
fn heard(received: &Received) -> Heard {
    match (received.status(), received.header("content-type")) {
        (204, None) if received.body.is_empty() => Heard::Messages(Vec::new()),
        (413, Some("application/json")) => Heard::Messages(vec![received.body.clone()]),
        (200, Some("text/event-stream; charset=utf-8")) => {
            let mut messages = events(&dechunk(&received.body));
            assert_eq!(messages.pop().as_deref(), Some(&b"[DONE]"[..]), "a stream says that it ends");
            Heard::Messages(messages)
        }
        _ => Heard::Refused,
    }
}

/// A body without its framing: each chunk has a line with its length before it, and a line's end after it.
fn dechunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").expect("a chunk has a length");
        let length = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).expect("a length has hexadecimal digits");
        let chunk = &rest[end + 2..];
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..length]);
        rest = &chunk[length + 2..];
    }
}

/// The data of each event.
fn events(text: &[u8]) -> Vec<Bytes> {
    let text = std::str::from_utf8(text).expect("an event stream is UTF-8");
    let data = |event: &str| {
        let lines: Vec<_> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        (!lines.is_empty()).then(|| Bytes::from(lines.join("\n")))
    };
    text.split("\n\n").filter_map(data).collect()
}
