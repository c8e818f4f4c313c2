//! HTTP: our server on a port of its own, and requests over a socket that no client of ours writes.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::serve;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};
use crate::secure;
use crate::wire::{Received, Wire};

/// One POST for each message, over one connection as long as the server keeps it.
#[derive(Debug)]
pub struct Http;

impl Carrier for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn kind(&self) -> Kind {
        Kind::OneAnswer
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            let (address, serving) = serve(service, settings).await;
            Box::new(Open { address, door: None, wire: None, _serving: serving }) as Box<dyn Line>
        })
    }
}

/// The same behind TLS.
#[derive(Debug)]
pub struct Https;

impl Carrier for Https {
    fn name(&self) -> &'static str {
        "https"
    }

    fn kind(&self) -> Kind {
        Kind::OneAnswer
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            let (server, door) = secure::server("https://127.0.0.1:0", service, settings).await;
            let mut serving = JoinSet::new();
            serving.spawn(server.serve());
            Box::new(Open { address: door.address, door: Some(door), wire: None, _serving: serving })
                as Box<dyn Line>
        })
    }
}

struct Open {
    address: SocketAddr,
    /// How to get in, where that takes more than a connection.
    door: Option<secure::Door>,
    /// The connection that is kept from the last request.
    wire: Option<Wire>,
    /// Ends the server when the line is dropped.
    _serving: JoinSet<()>,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            let mut wire = match self.wire.take() {
                Some(kept) => kept,
                None => match &self.door {
                    Some(door) => Wire::new(door.connect().await),
                    None => Wire::new(TcpStream::connect(self.address).await.expect("the server listens")),
                },
            };
            let head = format!(
                "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json\r\n",
                self.address
            );
            // A server that refuses may stop reading; its answer counts.
            let _ = wire.send(&head, &message).await;
            let Some(received) = wire.receive().await else { return Heard::Refused };
            if received.header("connection") != Some("close") {
                self.wire = Some(wire);
            }
            heard(received)
        })
    }
}

/// The message in a response. A refusal of HTTP holds an error object, which is a message like any other.
fn heard(received: Received) -> Heard {
    match (received.status(), received.header("content-type")) {
        (204, None) if received.body.is_empty() => Heard::Messages(Vec::new()),
        (200 | 413, Some("application/json")) => Heard::Messages(vec![received.body]),
        _ => Heard::Refused,
    }
}
