//! The bytes of a connection, without framing: for tools that test how servers treat invalid input.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[cfg(all(feature = "child", unix))]
use crate::child::Bare;

/// An open connection that carries bytes without interpreting them. Dropping it closes it, and stops the program behind it if
/// there is one.
///
/// [`Dial::raw`](crate::Dial::raw) opens it.
pub struct Raw(Inner);

enum Inner {
    Socket(Pin<Box<dyn Both>>),
    #[cfg(all(feature = "child", unix))]
    Child(Box<Bare>),
}

/// How the program behind a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramEnd {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its last output on standard error, with lines separated by ` | `.
    pub words: String,
}

/// What reads and writes.
trait Both: AsyncRead + AsyncWrite + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Send + Sync> Both for T {}

impl Raw {
    /// A connection over this stream.
    pub fn new(io: impl AsyncRead + AsyncWrite + Send + Sync + 'static) -> Raw {
        Raw(Inner::Socket(Box::pin(io)))
    }

    #[cfg(all(feature = "child", unix))]
    pub(crate) fn child(child: Bare) -> Raw {
        Raw(Inner::Child(Box::new(child)))
    }

    /// Waits until the program behind it has ended, and returns how. Without a program, it returns at once.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if it is dropped while it waits.
    #[cfg_attr(
        not(all(feature = "child", unix)),
        expect(clippy::unused_async, reason = "there are no programs")
    )]
    pub async fn ended(&mut self) -> Option<ProgramEnd> {
        match &mut self.0 {
            Inner::Socket(_) => None,
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => {
                let (status, words) = child.ended().await.ok()?;
                Some(ProgramEnd { status, words })
            }
        }
    }

    /// How the program behind it ended, if there is one and it has.
    pub fn has_ended(&mut self) -> Option<ProgramEnd> {
        match &mut self.0 {
            Inner::Socket(_) => None,
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => {
                let (status, words) = child.has_ended()?;
                Some(ProgramEnd { status, words })
            }
        }
    }
}

impl AsyncRead for Raw {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Inner::Socket(socket) => socket.as_mut().poll_read(cx, buf),
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => Pin::new(&mut **child).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Raw {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().0 {
            Inner::Socket(socket) => socket.as_mut().poll_write(cx, buf),
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => Pin::new(&mut **child).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Inner::Socket(socket) => socket.as_mut().poll_flush(cx),
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => Pin::new(&mut **child).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Inner::Socket(socket) => socket.as_mut().poll_shutdown(cx),
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => Pin::new(&mut **child).poll_shutdown(cx),
        }
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").finish_non_exhaustive()
    }
}
