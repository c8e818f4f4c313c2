//! The bytes of a connection, before anything frames them: for tools that see how the far side takes what is wrong.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// An open connection that carries bytes and means nothing by them. Dropping it closes it, and ends the program behind it
/// if there is one.
///
/// [`Dial::raw`](crate::Dial::raw) opens it.
pub struct Raw(Pin<Box<dyn Both>>);

/// What reads and writes.
trait Both: AsyncRead + AsyncWrite + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Send + Sync> Both for T {}

impl Raw {
    pub(crate) fn new(io: impl AsyncRead + AsyncWrite + Send + Sync + 'static) -> Raw {
        Raw(Box::pin(io))
    }
}

impl AsyncRead for Raw {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().0.as_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for Raw {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().0.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().0.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().0.as_mut().poll_shutdown(cx)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").finish_non_exhaustive()
    }
}
