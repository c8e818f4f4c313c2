//! The bytes of a connection, before anything frames them: for tools that test how servers treat invalid input.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[cfg(all(feature = "child", unix))]
use crate::child::Bare;

/// An open connection that carries bytes without interpreting them. Dropping it closes it, and ends the program behind it if
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
pub struct Ended {
    /// What the system says of it.
    pub status: ExitStatus,
    /// What the program said last on standard error, its lines apart by ` | `.
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

    /// Waits until the program behind it has ended, and says how. Where there is no program, nothing is waited for.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if it is dropped while it waits.
    #[cfg_attr(
        not(all(feature = "child", unix)),
        expect(clippy::unused_async, reason = "there are no programs")
    )]
    pub async fn ended(&mut self) -> Option<Ended> {
        match &mut self.0 {
            Inner::Socket(_) => None,
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => {
                let (status, words) = child.ended().await.ok()?;
                Some(Ended { status, words })
            }
        }
    }

    /// How the program behind it has ended, if there is one that has.
    pub fn has_ended(&mut self) -> Option<Ended> {
        match &mut self.0 {
            Inner::Socket(_) => None,
            #[cfg(all(feature = "child", unix))]
            Inner::Child(child) => {
                let (status, words) = child.has_ended()?;
                Some(Ended { status, words })
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
