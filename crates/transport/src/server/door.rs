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
use crate::http;
use crate::socket::Socket;

/// A listener and its purpose.
pub(crate) struct Door {
    listener: TcpListener,
    purpose: Purpose,
}

/// What is done with an accepted socket. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Purpose {
    /// HTTP, and what it is upgraded to.
    Http(Arc<http::Rules>),
}

/// Somebody who came in.
pub(super) struct Arrival {
    pub(super) socket: Socket,
    pub(super) address: Option<SocketAddr>,
    pub(super) purpose: Purpose,
}

impl Door {
    /// HTTP on this listener.
    pub(crate) fn http(listener: TcpListener, rules: Arc<http::Rules>) -> Door {
        Door { listener, purpose: Purpose::Http(rules) }
    }

    /// The next who comes in.
    pub(super) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Arrival>> {
        self.listener.poll_accept(cx).map_ok(|(tcp, address)| Arrival {
            socket: tcp.into(),
            address: Some(address),
            purpose: self.purpose.clone(),
        })
    }
}

impl Arrival {
    /// Serves the connection until it ends.
    pub(super) async fn serve(self, guest: Guest) {
        match self.purpose {
            Purpose::Http(rules) => {
                let mut origin = Origin::new("http");
                origin.address = self.address;
                http::serve(self.socket, origin, rules, guest).await;
            }
        }
    }

    /// Tells the far side that there are too many connections, and closes.
    pub(super) async fn refuse(mut self, stop: &Stop) {
        let text = match self.purpose {
            Purpose::Http(_) => http_refusal(),
        };
        // An empty send buffer takes these few bytes at once.
        if self.socket.write_all(&text).await.is_ok() && self.socket.shutdown().await.is_ok() {
            http::linger(self.socket, stop).await;
        }
    }
}

/// What a connection too many is told over HTTP.
fn http_refusal() -> Bytes {
    let error = ErrorObject::over_limit("connections", "too many connections; try again later");
    let answer = Answer::refusal(&error);
    let body = answer.body().map_or(&b""[..], |body| body);
    let mut text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         retry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    text.extend_from_slice(body);
    Bytes::from(text)
}
