//! The TLS handshake of an accepted connection. It has a seat and a deadline like anything else that is accepted.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use switchboard_core::ErrorObject;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::door::{http_refusal, say_and_close};
use super::guest::Guest;
use crate::http::after;
use crate::socket::Socket;
use crate::tls::{PeerCertificate, ServerTls};

/// The first byte of every handshake.
const HANDSHAKE: u8 = 22;

/// Greets the far side. Nothing if that fails, takes too long, or the server stops meanwhile.
///
/// Those who speak plain HTTP are told so where `answers_http`; others would not understand.
pub(super) async fn greet(
    tcp: TcpStream,
    tls: &ServerTls,
    guest: &Guest,
    answers_http: bool,
) -> Option<(Socket, Option<PeerCertificate>)> {
    let due = after(Instant::now(), guest.options().header_time);
    let mut stopped = pin!(guest.stop().wait());
    let mut greeting = pin!(tokio::time::timeout_at(due, shake(tcp, tls, guest, answers_http)));
    let greeted = poll_fn(|cx| match greeting.as_mut().poll(cx) {
        Poll::Ready(greeted) => Poll::Ready(greeted.ok().flatten()),
        // Nothing was asked yet, so nothing is left unanswered.
        Poll::Pending => stopped.as_mut().poll(cx).map(|()| None),
    });
    greeted.await
}

async fn shake(
    tcp: TcpStream,
    tls: &ServerTls,
    guest: &Guest,
    answers_http: bool,
) -> Option<(Socket, Option<PeerCertificate>)> {
    let mut first = [0];
    if tcp.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    if first != [HANDSHAKE] && answers_http {
        let error = ErrorObject::invalid_request("this port speaks TLS; use https:// to call it");
        say_and_close(tcp.into(), &http_refusal("400 Bad Request", &error), guest.stop()).await;
        return None;
    }
    match TlsAcceptor::from(tls.config()).accept(tcp).into_fallible().await {
        Ok(stream) => {
            let chain = stream.get_ref().1.peer_certificates();
            let certificate =
                chain.and_then(<[_]>::first).map(|certificate| PeerCertificate::from_der(certificate));
            Some((Socket::Tls(Box::new(stream)), certificate))
        }
        Err((error, tcp)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            // The far side may have sent more already. To close at once would keep it from reading why it was refused.
            say_and_close(tcp.into(), b"", guest.stop()).await;
            None
        }
    }
}
