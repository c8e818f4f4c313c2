//! The TLS handshake of an accepted connection. It holds a permit and has a deadline.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{PeerCertificate, ServerTls, read_certificate};
use crate::server::{ConnectionPermit, refuse_and_close};

/// The first byte of every handshake.
const HANDSHAKE: u8 = 22;

/// Does the handshake, within the time that the server gives the head of a request. Nothing if it fails, takes too long, or the
/// server shuts down meanwhile.
///
/// A caller that does not speak TLS gets `refusal`, where there is one that it may understand.
pub(crate) async fn accept(
    tcp: TcpStream,
    tls: &ServerTls,
    permit: &ConnectionPermit,
    refusal: Option<&[u8]>,
) -> Option<(Box<TlsStream<TcpStream>>, Option<PeerCertificate>)> {
    let mut requested = pin!(permit.shutdown().wait());
    // Boxed, so that connections without TLS do not need room for it.
    let shake = Box::pin(shake(tcp, tls, permit, refusal));
    let mut greeting = pin!(tokio::time::timeout(permit.options().header_time, shake));
    let greeted = poll_fn(|cx| match greeting.as_mut().poll(cx) {
        Poll::Ready(greeted) => Poll::Ready(greeted.ok().flatten()),
        // No request was sent yet, so none stays unanswered.
        Poll::Pending => requested.as_mut().poll(cx).map(|()| None),
    });
    greeted.await
}

async fn shake(
    tcp: TcpStream,
    tls: &ServerTls,
    permit: &ConnectionPermit,
    refusal: Option<&[u8]>,
) -> Option<(Box<TlsStream<TcpStream>>, Option<PeerCertificate>)> {
    let mut first = [0];
    if tcp.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    if first != [HANDSHAKE]
        && let Some(refusal) = refusal
    {
        refuse_and_close(tcp, refusal, permit.shutdown()).await;
        return None;
    }
    match TlsAcceptor::from(tls.config()).accept(tcp).into_fallible().await {
        Ok(stream) => {
            let chain = stream.get_ref().1.peer_certificates();
            let certificate = chain.and_then(<[_]>::first).map(|certificate| read_certificate(certificate));
            Some((Box::new(stream), certificate))
        }
        Err((error, tcp)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            // The caller may have sent more already. Closing at once would keep it from reading why it was refused.
            refuse_and_close(tcp, b"", permit.shutdown()).await;
            None
        }
    }
}
