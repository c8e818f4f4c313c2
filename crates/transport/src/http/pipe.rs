//! A buffer between the socket of one connection and hyper.
//!
//! hyper writes each response separately. Here responses wait until the connection has nothing more to do, so that those
//! to pipelined requests leave in one write. (hyper's own `pipeline_flush` does that too, but keeps a response back
//! while bytes of an unfinished request wait: a client that sends a line break after its body never gets its response.)

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::timeouts::Activity;
use crate::server::{Shutdown, linger};
use crate::socket::Socket;

/// A write of this size or more is not worth a copy.
const LARGE: usize = 16 << 10;
/// As much as waits at most before it is written.
const FULL: usize = 64 << 10;

/// What hyper reads from and writes to. Others hold the same [`Shared`].
pub(super) struct Pipe(pub(super) Arc<Shared>);

/// A connection's socket and what is known about its traffic.
pub(super) struct Shared {
    pub(super) activity: Activity,
    inner: Mutex<Inner>,
    /// Whether the connection ends after the requests that it has.
    is_closing: AtomicBool,
    /// The task that has to know.
    driver: Mutex<Option<Waker>>,
}

struct Inner {
    socket: Socket,
    /// Bytes read ahead to detect the protocol, to be read again.
    prefix: Bytes,
    /// What hyper wrote and the socket has not taken yet.
    waiting: Vec<u8>,
    /// The socket took something that it may still keep to itself, as TLS does.
    is_unflushed: bool,
}

impl Shared {
    pub(super) fn new(socket: Socket, is_http2: bool) -> Arc<Shared> {
        let activity = Activity::new(is_http2);
        let inner = Inner { socket, prefix: Bytes::new(), waiting: Vec::new(), is_unflushed: false };
        Arc::new(Shared {
            activity,
            inner: Mutex::new(inner),
            is_closing: AtomicBool::new(false),
            driver: Mutex::default(),
        })
    }

    /// Ends the connection after the requests that it has.
    pub(super) fn close_soon(&self) {
        self.is_closing.store(true, Ordering::Release);
        if let Some(driver) = self.driver.lock().unwrap_or_else(PoisonError::into_inner).take() {
            driver.wake();
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Wakes this task when the connection is to end.
    pub(super) fn register(&self, driver: &Waker) {
        *self.driver.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver.clone());
    }

    /// Writes what waits.
    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.activity.has_unsent() {
            return Poll::Ready(Ok(()));
        }
        let mut inner = self.lock();
        let waiting = inner.waiting.len();
        let flushed = inner.poll_flush(cx);
        self.activity.note_socket(waiting - inner.waiting.len(), flushed.is_pending());
        let outcome = ready!(flushed);
        self.activity.set_unsent(false);
        if waiting > 0 {
            self.activity.note_written(waiting);
        }
        Poll::Ready(outcome)
    }

    /// Reads what is there and there is room for. Says how much it was; nothing means the end.
    pub(super) fn poll_fill(&self, cx: &mut Context<'_>, bytes: &mut BytesMut) -> Poll<io::Result<usize>> {
        let mut inner = self.lock();
        let count = ready!(pin!(inner.socket.read_buf(bytes)).poll(cx))?;
        if count > 0 {
            self.activity.note_read();
        }
        Poll::Ready(Ok(count))
    }

    /// Lets the next reader have these bytes first.
    pub(super) fn put_back(&self, bytes: Bytes) {
        self.lock().prefix = bytes;
    }

    /// Whether bytes were put back.
    pub(super) fn has_more(&self) -> bool {
        !self.lock().prefix.is_empty()
    }

    /// Puts a response to what waits. It is written when the connection has nothing more to do, or when it is large.
    pub(super) async fn send(&self, head: impl FnOnce(&mut Vec<u8>), body: &[u8]) -> io::Result<()> {
        let is_small = body.len() < LARGE;
        let waiting = {
            let mut inner = self.lock();
            head(&mut inner.waiting);
            if is_small {
                inner.waiting.extend_from_slice(body);
            }
            inner.waiting.len()
        };
        self.activity.set_unsent(true);
        if is_small && waiting < FULL {
            return Ok(());
        }
        poll_fn(|cx| self.poll_flush(cx)).await?;
        if is_small { Ok(()) } else { self.write(body).await }
    }

    /// Writes this past what waits, which is nothing.
    async fn write(&self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let count = poll_fn(|cx| {
                let written = Pin::new(&mut self.lock().socket).poll_write(cx, rest);
                self.activity.note_socket(accepted(&written), written.is_pending());
                written
            });
            let count = count.await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            // Each time, because TLS may have kept some, and a flush meanwhile removed the mark.
            self.activity.set_unsent(true);
            self.activity.note_written(count);
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Writes what waits and says that nothing follows.
    pub(super) async fn close(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await?;
        poll_fn(|cx| Pin::new(&mut self.lock().socket).poll_shutdown(cx)).await
    }

    /// Reads and drops further input for a while, so that the peer reads our last message before it learns
    /// that the connection is closed.
    pub(super) async fn linger(self: Arc<Shared>, stop: &Shutdown) {
        if let Some(shared) = Arc::into_inner(self) {
            let inner = shared.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
            linger(inner.socket, stop).await;
        }
    }

    /// The socket, over which nothing was sent; if it is not shared.
    pub(super) fn into_unused(self: Arc<Shared>) -> Option<Socket> {
        let inner = Arc::into_inner(self)?.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(inner.socket)
    }

    /// The socket itself, what was read of it and not taken, and what is still to be written; if it is not shared.
    #[cfg(feature = "ws")]
    pub(super) fn into_socket(self: Arc<Shared>) -> Option<(Socket, Bytes, Vec<u8>)> {
        let inner = Arc::into_inner(self)?.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some((inner.socket, inner.prefix, inner.waiting))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut sent = 0;
        let outcome = loop {
            match self.waiting.get(sent..) {
                None | Some([]) => break Poll::Ready(Ok(())),
                Some(rest) => match Pin::new(&mut self.socket).poll_write(cx, rest) {
                    Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                    Poll::Pending => break Poll::Pending,
                },
            }
        };
        if sent == self.waiting.len() && self.waiting.capacity() <= LARGE {
            self.waiting.clear();
        } else if sent == self.waiting.len() {
            self.waiting = Vec::new();
        } else {
            self.waiting.drain(..sent);
        }
        ready!(outcome)?;
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.is_unflushed = false;
        Poll::Ready(Ok(()))
    }

    /// Takes what is to be written, or writes it past the waiting line if that is empty and it is large.
    fn poll_take(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        if self.waiting.len() + size > FULL {
            ready!(self.poll_flush(cx))?;
        }
        if self.waiting.is_empty() && size >= LARGE {
            self.is_unflushed = true;
            return Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        }
        self.waiting.reserve(size);
        for part in parts {
            self.waiting.extend_from_slice(part);
        }
        Poll::Ready(Ok(size))
    }
}

/// How many bytes were accepted.
fn accepted(written: &Poll<io::Result<usize>>) -> usize {
    match written {
        Poll::Ready(Ok(count)) => *count,
        _ => 0,
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        let before = buf.filled().len();
        if inner.prefix.is_empty() {
            let read = Pin::new(&mut inner.socket).poll_read(cx, buf);
            self.0.activity.set_wants_bytes(read.is_pending());
            ready!(read)?;
        } else {
            self.0.activity.set_wants_bytes(false);
            let count = inner.prefix.len().min(buf.remaining());
            buf.put_slice(&inner.prefix.split_to(count));
        }
        if buf.filled().len() > before {
            self.0.activity.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock();
        self.0.activity.set_wants_bytes(false);
        let waiting = inner.waiting.len();
        let taken = inner.poll_take(cx, parts);
        // What is taken to wait adds to what waits, and what is written past it does not.
        let sent = (waiting + accepted(&taken)).saturating_sub(inner.waiting.len());
        self.0.activity.note_socket(sent, taken.is_pending());
        let taken = ready!(taken)?;
        self.0.activity.set_unsent(!inner.waiting.is_empty() || inner.is_unflushed);
        self.0.activity.note_written(taken);
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Called by the driver of the connection, when hyper has nothing more to do.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.activity.set_wants_bytes(false);
        ready!(self.0.poll_flush(cx))?;
        Pin::new(&mut self.0.lock().socket).poll_shutdown(cx)
    }
}
