//! One accepted or opened socket of any kind, as bytes both ways.
//!
//! An enum rather than a trait object: what reads and writes most is reached without an indirect call, and a socket that
//! goes from HTTP to another protocol stays what it is.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixStream),
    /// TLS over TCP, of a server. What it keeps is large, and kept apart.
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
    /// TLS over TCP, of a client.
    #[cfg(feature = "tls")]
    Candid(Box<crate::tls::Candid>),
}

impl From<TcpStream> for Socket {
    fn from(tcp: TcpStream) -> Socket {
        // Messages are written whole, so waiting for more to send only delays them.
        let _ = tcp.set_nodelay(true);
        Socket::Tcp(tcp)
    }
}

#[cfg(unix)]
impl From<UnixStream> for Socket {
    fn from(unix: UnixStream) -> Socket {
        Socket::Unix(unix)
    }
}

/// Calls the same method of whatever kind the socket is.
macro_rules! either {
    ($socket:expr, $method:ident($($argument:expr),*)) => {
        match $socket.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).$method($($argument),*),
            #[cfg(unix)]
            Socket::Unix(unix) => Pin::new(unix).$method($($argument),*),
            #[cfg(feature = "tls")]
            Socket::Tls(tls) => Pin::new(&mut **tls).$method($($argument),*),
            #[cfg(feature = "tls")]
            Socket::Candid(tls) => Pin::new(&mut **tls).$method($($argument),*),
        }
    };
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, poll_write(cx, buf))
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_shutdown(cx))
    }
}
