//! One way in: a listener, and what is done with those who come.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use switchboard_core::{Answer, ErrorObject, Origin};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::guest::Guest;
use super::stop::Stop;
#[cfg(feature = "stream")]
use super::streams::Streams;
use crate::http;
use crate::socket::Socket;
#[cfg(feature = "tls")]
use crate::tls::ServerTls;
#[cfg(all(feature = "unix", unix))]
use crate::unix;

/// A listener and its purpose.
pub(crate) struct Door {
    listener: Listener,
    purpose: Purpose,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
}

/// Where sockets come from.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    #[cfg(all(feature = "unix", unix))]
    Unix(unix::Listener),
}

/// What is done with an accepted socket. Cheap to clone.
#[derive(Clone)]
pub(super) enum Purpose {
    /// HTTP, and what it is upgraded to.
    Http(Arc<http::Rules>),
    /// Messages, one after the other.
    #[cfg(feature = "stream")]
    Messages(Arc<Streams>),
}

/// Somebody who came in.
pub(super) struct Arrival {
    socket: Socket,
    pub(super) address: Option<SocketAddr>,
    purpose: Purpose,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
}

impl Door {
    pub(super) fn new(listener: Listener, purpose: Purpose) -> Door {
        Door {
            listener,
            purpose,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// HTTP on this listener.
    pub(crate) fn http(listener: TcpListener, rules: Arc<http::Rules>) -> Door {
        Door::new(Listener::Tcp(listener), Purpose::Http(rules))
    }

    /// The same door, behind TLS.
    #[cfg(feature = "tls")]
    pub(super) fn with_tls(mut self, tls: ServerTls) -> Door {
        self.tls = Some(tls);
        self
    }

    /// What has to be looked after while the door is open.
    #[cfg(feature = "tls")]
    pub(super) fn tls(&self) -> Option<&ServerTls> {
        self.tls.as_ref()
    }

    /// The next who comes in.
    pub(super) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Arrival>> {
        self.listener.poll_accept(cx).map_ok(|(socket, address)| Arrival {
            socket,
            address,
            purpose: self.purpose.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        })
    }
}

impl Listener {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Socket, Option<SocketAddr>)>> {
        match self {
            Listener::Tcp(tcp) => {
                tcp.poll_accept(cx).map_ok(|(stream, address)| (stream.into(), Some(address)))
            }
            #[cfg(all(feature = "unix", unix))]
            Listener::Unix(unix) => unix.poll_accept(cx).map_ok(|stream| (stream.into(), None)),
        }
    }
}

impl Arrival {
    /// Serves the connection until it ends.
    pub(super) async fn serve(self, guest: Guest) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            // Only listeners for TCP have a certificate.
            let Socket::Tcp(tcp) = self.socket else { return };
            let answers_http = matches!(self.purpose, Purpose::Http(_));
            // Apart, so that connections without TLS are not as large as those with.
            let greeting = Box::pin(super::handshake::greet(tcp, tls, &guest, answers_http));
            if let Some((socket, certificate)) = greeting.await {
                let mut origin = self.purpose.origin(true, self.address);
                if let Some(certificate) = certificate {
                    origin.extensions.insert(certificate);
                }
                self.purpose.serve(socket, origin, guest).await;
            }
            return;
        }
        let origin = self.purpose.origin(false, self.address);
        self.purpose.serve(self.socket, origin, guest).await;
    }

    /// Tells the far side that there are too many connections, and closes. Where that would take a handshake, it is
    /// closed without a word.
    pub(super) async fn refuse(self, stop: &Stop) {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return;
        }
        let error = ErrorObject::over_limit("connections", "too many connections; try again later");
        let text = match &self.purpose {
            Purpose::Http(_) => http_refusal("503 Service Unavailable\r\nretry-after: 1", &error),
            #[cfg(feature = "stream")]
            Purpose::Messages(streams) => streams.refusal(&error),
        };
        say_and_close(self.socket, &text, stop).await;
    }
}

impl Purpose {
    fn origin(&self, is_secure: bool, address: Option<SocketAddr>) -> Origin {
        let mut origin = Origin::new(match (self, is_secure, address) {
            (Purpose::Http(_), false, _) => "http",
            (Purpose::Http(_), true, _) => "https",
            #[cfg(feature = "stream")]
            (Purpose::Messages(_), true, _) => "tls",
            #[cfg(feature = "stream")]
            (Purpose::Messages(_), false, Some(_)) => "tcp",
            #[cfg(feature = "stream")]
            (Purpose::Messages(_), false, None) => "unix",
        });
        origin.address = address;
        origin
    }

    async fn serve(self, socket: Socket, origin: Origin, guest: Guest) {
        match self {
            Purpose::Http(rules) => http::serve(socket, origin, rules, guest).await,
            #[cfg(feature = "stream")]
            Purpose::Messages(streams) => streams.serve(socket, origin, guest).await,
        }
    }
}

/// Says some last words.
pub(crate) async fn say_and_close(mut socket: Socket, text: &[u8], stop: &Stop) {
    // An empty send buffer takes these few bytes at once.
    if socket.write_all(text).await.is_ok() && socket.shutdown().await.is_ok() {
        http::linger(socket, stop).await;
    }
}

/// A whole response of HTTP with this status and error, for those who are not served.
pub(crate) fn http_refusal(status: &str, error: &ErrorObject) -> Bytes {
    let answer = Answer::refusal(error);
    let body = answer.body().map_or(&b""[..], |body| body);
    let mut text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    text.extend_from_slice(body);
    Bytes::from(text)
}
