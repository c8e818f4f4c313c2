//! State shared by the two halves of a connection: the socket, and writes that reading requires.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_util::io::poll_read_buf;

use super::close::{Close, CloseCode};
use super::decoder::MessageDecoder;
use super::frame::{MessageKind, Role};

/// A byte stream in both directions.
pub trait DuplexIo: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> DuplexIo for S {}

/// The middle of a connection. One task uses it, so that its locks never wait.
#[derive(Debug)]
pub(super) struct Shared<S> {
    pub(super) role: Role,
    io: Mutex<S>,
    control: Mutex<Control>,
    /// Whether a ping or a pong is to be sent.
    has_control: AtomicBool,
    /// Whether the peer's last message was binary, and so our next one is.
    is_binary: AtomicBool,
}

/// What is to be done beside messages.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) ping: bool,
    /// What the last ping held; earlier ones need no answer any more.
    pub(super) pong: Option<Bytes>,
    /// Since when nothing of what waits could be written.
    pub(super) stalled: Option<Instant>,
    /// The peer's close frame.
    pub(super) closed: Option<Option<Close>>,
    /// The code and the reason that this side found to end the connection.
    pub(super) verdict: Option<(CloseCode, String)>,
    /// What the sink has not written, from its first byte that is not written.
    pub(super) unsent: Vec<u8>,
    /// What the source has read, and not made messages of.
    pub(super) unread: Option<(MessageDecoder, BytesMut)>,
}

impl<S: DuplexIo> Shared<S> {
    pub(super) fn new(io: S, role: Role) -> Shared<S> {
        Shared {
            role,
            io: Mutex::new(io),
            control: Mutex::default(),
            has_control: AtomicBool::new(false),
            is_binary: AtomicBool::new(false),
        }
    }

    pub(super) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.io)).poll_read(cx, buffer)
    }

    /// Reads into the room that there is, without writing zeros to it first.
    pub(super) fn poll_read_buf(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        poll_read_buf(Pin::new(&mut *lock(&self.io)), cx, buffer)
    }

    pub(super) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.io)).poll_write(cx, bytes)
    }

    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.io)).poll_flush(cx)
    }

    pub(super) fn into_parts(self) -> (S, Control) {
        let io = self.io.into_inner().unwrap_or_else(PoisonError::into_inner);
        (io, self.control.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S> Shared<S> {
    pub(super) fn control(&self) -> MutexGuard<'_, Control> {
        lock(&self.control)
    }

    pub(super) fn want_ping(&self) {
        self.control().ping = true;
        self.has_control.store(true, Relaxed);
    }

    /// However many pings come before there is time to answer, one pong is sent.
    pub(super) fn want_pong(&self, payload: Bytes) {
        self.control().pong = Some(payload);
        self.has_control.store(true, Relaxed);
    }

    /// Whether there is a ping or a pong to send.
    #[inline]
    pub(super) fn has_control(&self) -> bool {
        self.has_control.load(Relaxed)
    }

    pub(super) fn take_control(&self) -> (bool, Option<Bytes>) {
        self.has_control.store(false, Relaxed);
        let mut control = self.control();
        (std::mem::take(&mut control.ping), control.pong.take())
    }

    #[inline]
    pub(super) fn note_kind(&self, kind: MessageKind) {
        self.is_binary.store(kind == MessageKind::Binary, Relaxed);
    }

    #[inline]
    pub(super) fn kind(&self) -> MessageKind {
        if self.is_binary.load(Relaxed) { MessageKind::Binary } else { MessageKind::Text }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
