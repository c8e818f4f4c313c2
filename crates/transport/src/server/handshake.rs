//! The TLS handshake of an accepted connection. It has a seat and a deadline like anything else that is accepted.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use switchboard_core::{ErrorObject, Origin};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::{TlsAcceptor, TlsStream};

use super::door::{http_refusal, say_and_close};
use super::guest::Guest;
use crate::http::after;
use crate::socket::Socket;
use crate::tls::{PeerCertificate, ServerTls};

/// The first byte of every handshake.
const HANDSHAKE: u8 = 22;

/// Greets the far side. Nothing if that fails, takes too long, or the server stops meanwhile.
pub(super) async fn greet(tcp: TcpStream, tls: &ServerTls, guest: &Guest) -> Option<(Socket, Origin)> {
    let due = after(Instant::now(), guest.options().header_time);
    let mut stopped = pin!(guest.stop().wait());
    let mut greeting = pin!(tokio::time::timeout_at(due, shake(tcp, tls, guest)));
    let greeted = poll_fn(|cx| match greeting.as_mut().poll(cx) {
        Poll::Ready(greeted) => Poll::Ready(greeted.ok().flatten()),
        // Nothing was asked yet, so nothing is left unanswered.
        Poll::Pending => stopped.as_mut().poll(cx).map(|()| None),
    });
    greeted.await
}

async fn shake(tcp: TcpStream, tls: &ServerTls, guest: &Guest) -> Option<(Socket, Origin)> {
    let mut first = [0];
    if tcp.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    if first != [HANDSHAKE] {
        let error = ErrorObject::invalid_request("this port speaks TLS; use https:// to call it");
        say_and_close(tcp.into(), &http_refusal("400 Bad Request", &error), guest.stop()).await;
        return None;
    }
    let _ = tcp.set_nodelay(true);
    match TlsAcceptor::from(tls.config()).accept(tcp).await {
        Ok(stream) => {
            let mut origin = Origin::new("https");
            if let Some([own, ..]) = stream.get_ref().1.peer_certificates() {
                origin.extensions.insert(PeerCertificate::read(own));
            }
            Some((Socket::Tls(Box::new(TlsStream::Server(stream))), origin))
        }
        Err(error) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
    }
}
