//! A connected socket of any kind, as a byte stream in both directions.
//!
//! One box for each connection, so that HTTP and WebSocket above it are compiled once. A request costs an indirect call
//! to read and one to write, next to two system calls.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes both ways.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static> ByteStream for S {}

/// A connected socket.
pub(crate) struct Socket {
    stream: Box<dyn ByteStream>,
    /// Whether it keeps back what was written until it is flushed, as TLS does.
    is_buffered: bool,
    /// Whether both sides have agreed on HTTP/2, as they can with TLS.
    is_http2: bool,
}

impl Socket {
    /// A socket that sends at once what is written.
    pub(crate) fn new(stream: impl ByteStream) -> Socket {
        Socket { stream: Box::new(stream), is_buffered: false, is_http2: false }
    }

    /// A socket that has to be flushed.
    #[cfg(feature = "tls")]
    pub(crate) fn buffered(stream: impl ByteStream) -> Socket {
        Socket { stream: Box::new(stream), is_buffered: true, is_http2: false }
    }

    /// The same socket for a connection on which HTTP/2 was agreed, or not.
    #[cfg(feature = "tls")]
    pub(crate) fn agreed_on_http2(self, is_http2: bool) -> Socket {
        Socket { is_http2, ..self }
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream).poll_write(cx, buf)
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_buffered { Pin::new(&mut *self.stream).poll_flush(cx) } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(cx)
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("is_buffered", &self.is_buffered).finish_non_exhaustive()
    }
}
