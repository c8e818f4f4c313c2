//! WebSocket: our server on a port of its own, and frames that are written here by hand.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings, Versions};
use switchboard_transport::internals::ws::MessageKind as Message;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::markers::{self, Messages};
use super::serve;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};
use crate::socket::Socket;

/// One connection, with messages of this kind.
#[derive(Debug)]
pub struct Ws(pub Message);

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
            let versions = settings.profile.versions;
            let (address, serving) = serve(service, settings).await;
            let tcp = TcpStream::connect(address).await.expect("the server listens");
            let socket = Socket::open(tcp, "/rpc/ws").await;
            Box::new(Open { socket, kind: self.0, versions, _serving: serving }) as Box<dyn Line>
        })
    }
}

struct Open {
    socket: Socket,
    kind: Message,
    versions: Versions,
    /// Ends the server when the line is dropped.
    _serving: JoinSet<()>,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            self.socket.send(self.kind, &message).await;
            let versions = self.versions;
            if let Some(messages) = markers::hear_all(self, versions).await {
                return Heard::Messages(messages);
            }
            let code = self.socket.close_code().await;
            if self.kind == Message::Text && std::str::from_utf8(&message).is_err() {
                assert_eq!(code, Some(1007), "(JT-01)");
                return Heard::Unable("a text that is not UTF-8 ends the connection");
            }
            Heard::Refused
        })
    }
}

impl Messages for Open {
    fn write<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, Option<()>> {
        Box::pin(async {
            // A server that has closed takes nothing, which is seen when reading.
            self.socket.send(self.kind, message).await;
            Some(())
        })
    }

    fn read(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            let (kind, frame) = self.socket.receive().await?;
            assert_eq!(kind, self.kind, "answers are of the kind of the calls (JT-01)");
            Some(frame)
        })
    }
}
