//! WebSocket: our server on a port of its own, and frames that are written here by hand.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};
use switchboard_transport::ws::Kind as Message;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::serve;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};
use crate::socket::Socket;

/// One connection, with messages of this kind.
#[derive(Debug)]
pub struct Ws(pub Message);

/// Whatever came before a ping is taken when its pong comes; calls that step aside are done a few pings later.
const PINGS: usize = 4;

impl Carrier for Ws {
    fn name(&self) -> &'static str {
        match self.0 {
            Message::Text => "ws",
            Message::Binary => "ws (binary)",
        }
    }

    fn kind(&self) -> Kind {
        Kind::Duplex
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            let (address, serving) = serve(service, settings).await;
            let tcp = TcpStream::connect(address).await.expect("the server listens");
            let socket = Socket::open(tcp, "/rpc/ws").await;
            Box::new(Open { socket, kind: self.0, _serving: serving }) as Box<dyn Line>
        })
    }
}

struct Open {
    socket: Socket,
    kind: Message,
    /// Ends the server when the line is dropped.
    _serving: JoinSet<()>,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            self.socket.send(self.kind, &message).await;
            let mut messages = Vec::new();
            for _ in 0..PINGS {
                let Some(heard) = self.socket.until_pong().await else {
                    let code = self.socket.close_code().await;
                    if self.kind == Message::Text && std::str::from_utf8(&message).is_err() {
                        assert_eq!(code, Some(1007), "(JT-01)");
                        return Heard::Unable("a text that is not UTF-8 ends the connection");
                    }
                    return Heard::Refused;
                };
                for (kind, frame) in heard {
                    assert_eq!(kind, self.kind, "answers are of the kind of the calls (JT-01)");
                    messages.push(frame);
                }
            }
            Heard::Messages(messages)
        })
    }
}
