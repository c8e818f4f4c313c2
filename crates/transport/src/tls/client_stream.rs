//! The client's end of a TLS connection, with errors in plain words.
//!
//! With TLS 1.3 a server checks the client's certificate after the handshake, from the client's point of view: its rejection
//! arrives instead of the first response, or during a write.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::explain::explain;

/// The client's end of a connection to a host.
#[derive(Debug)]
pub(crate) struct TlsClientStream {
    tls: TlsStream<TcpStream>,
    host: String,
    /// The error of a failed write; the peer's last message is awaited.
    failed: Option<io::Error>,
    /// What it said last, other than why it closed.
    unread: Vec<u8>,
}

impl TlsClientStream {
    pub(super) fn new(tls: TlsStream<TcpStream>, host: &str) -> TlsClientStream {
        TlsClientStream { tls, host: host.to_owned(), failed: None, unread: Vec::new() }
    }

    /// Whether the handshake decided for HTTP/2.
    #[cfg(feature = "http")]
    pub(crate) fn is_http2(&self) -> bool {
        self.tls.get_ref().1.alpn_protocol() == Some(b"h2")
    }

    /// The same error, in plain words if it is one of TLS.
    fn explained(&self, error: io::Error) -> io::Error {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if tls.is_none() {
            return error;
        }
        let explained = explain(&error, &self.host);
        let kind = if explained.is_permanent { io::ErrorKind::PermissionDenied } else { error.kind() };
        io::Error::new(kind, explained)
    }

    /// After a failed write: the reason that the peer gave, if it gave one. A socket that cannot be written to any
    /// more has come to its end, so this does not wait for long.
    fn poll_reason(&mut self, cx: &mut Context<'_>, failure: io::Error) -> Poll<io::Error> {
        let mut chunk = [0; 1024];
        let mut buffer = ReadBuf::new(&mut chunk);
        match Pin::new(&mut self.tls).poll_read(cx, &mut buffer) {
            Poll::Pending => {
                self.failed = Some(failure);
                Poll::Pending
            }
            Poll::Ready(Err(reason)) if reason.get_ref().is_some() => Poll::Ready(self.explained(reason)),
            Poll::Ready(Err(_)) => Poll::Ready(failure),
            Poll::Ready(Ok(())) => {
                self.unread.extend_from_slice(buffer.filled());
                Poll::Ready(failure)
            }
        }
    }

    /// Does something with the stream that may fail because the peer is gone.
    fn poll_writing<T>(
        &mut self,
        cx: &mut Context<'_>,
        act: impl FnOnce(Pin<&mut TlsStream<TcpStream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let failure = match self.failed.take() {
            Some(failure) => failure,
            None => match ready!(act(Pin::new(&mut self.tls), cx)) {
                Ok(done) => return Poll::Ready(Ok(done)),
                Err(failure) => failure,
            },
        };
        self.poll_reason(cx, failure).map(Err)
    }
}

impl AsyncRead for TlsClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let count = self.unread.len().min(buf.remaining());
            buf.put_slice(&self.unread[..count]);
            self.unread.drain(..count);
            return Poll::Ready(Ok(()));
        }
        let read = ready!(Pin::new(&mut self.tls).poll_read(cx, buf));
        Poll::Ready(read.map_err(|error| self.explained(error)))
    }
}

impl AsyncWrite for TlsClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |tls, cx| tls.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |tls, cx| tls.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_writing(cx, TlsStream::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}
