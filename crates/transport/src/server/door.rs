//! One way in: a listener, and what is done with those who come.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use switchboard_core::{Answer, ErrorObject, Origin};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::guest::Guest;
use super::stop::Stop;
use crate::http;
use crate::socket::Socket;
#[cfg(feature = "tls")]
use crate::tls::ServerTls;

/// A listener and its purpose.
pub(crate) struct Door {
    listener: TcpListener,
    purpose: Purpose,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
}

/// What is done with an accepted socket. Cheap to clone.
#[derive(Clone)]
enum Purpose {
    /// HTTP, and what it is upgraded to.
    Http(Arc<http::Rules>),
}

/// Somebody who came in.
pub(super) struct Arrival {
    tcp: TcpStream,
    pub(super) address: SocketAddr,
    purpose: Purpose,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
}

impl Door {
    /// HTTP on this listener.
    pub(crate) fn http(listener: TcpListener, rules: Arc<http::Rules>) -> Door {
        Door {
            listener,
            purpose: Purpose::Http(rules),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The same door, behind TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn with_tls(mut self, tls: ServerTls) -> Door {
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
        self.listener.poll_accept(cx).map_ok(|(tcp, address)| Arrival {
            tcp,
            address,
            purpose: self.purpose.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        })
    }
}

impl Arrival {
    /// Serves the connection until it ends.
    pub(super) async fn serve(self, guest: Guest) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            // Apart, so that connections without TLS are not as large as those with.
            let Some((socket, origin)) = Box::pin(super::handshake::greet(self.tcp, tls, &guest)).await
            else {
                return;
            };
            return self.purpose.serve(socket, origin.with_address(self.address), guest).await;
        }
        let origin = Origin::new("http").with_address(self.address);
        self.purpose.serve(self.tcp.into(), origin, guest).await;
    }

    /// Tells the far side that there are too many connections, and closes. Where that would take a handshake, it is
    /// closed without a word.
    pub(super) async fn refuse(self, stop: &Stop) {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return;
        }
        let error = ErrorObject::over_limit("connections", "too many connections; try again later");
        let text = match self.purpose {
            Purpose::Http(_) => http_refusal("503 Service Unavailable\r\nretry-after: 1", &error),
        };
        say_and_close(self.tcp.into(), &text, stop).await;
    }
}

impl Purpose {
    async fn serve(self, socket: Socket, origin: Origin, guest: Guest) {
        match self {
            Purpose::Http(rules) => http::serve(socket, origin, rules, guest).await,
        }
    }
}

/// Says some last words.
pub(super) async fn say_and_close(mut socket: Socket, text: &[u8], stop: &Stop) {
    // An empty send buffer takes these few bytes at once.
    if socket.write_all(text).await.is_ok() && socket.shutdown().await.is_ok() {
        http::linger(socket, stop).await;
    }
}

/// A whole response of HTTP with this status and error, for those who are not served.
pub(super) fn http_refusal(status: &str, error: &ErrorObject) -> Bytes {
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
