//! Frames into a stream of bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use switchboard_core::{ConnectionError, FrameSink};
use tokio::io::AsyncWrite;

use crate::framing::Framing;

/// A buffer that is larger is given back when it is empty.
const KEPT: usize = 4 << 10;
/// As much as a new buffer is made to hold at once.
const AT_ONCE: usize = 64 << 10;

/// The writing half of a stream. What is queued goes out in one write.
#[derive(Debug)]
pub struct Sink<W> {
    writer: W,
    framing: Framing,
    queue: Vec<u8>,
    written: usize,
    /// How much was queued at once when the buffer was last given back.
    hint: usize,
    /// Whether the writer may still hold something back.
    needs_flush: bool,
    activity: Activity,
}

/// Counts writes, for whoever watches that something happens.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<AtomicU64>);

impl Activity {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<W> Sink<W> {
    pub(super) fn new(writer: W, framing: Framing) -> Sink<W> {
        let activity = Activity::default();
        Sink { writer, framing, queue: Vec::new(), written: 0, hint: 0, needs_flush: false, activity }
    }

    pub(super) fn activity(&self) -> Activity {
        self.activity.clone()
    }

    /// Begins again with an empty buffer, a small one if the one at hand has grown.
    fn recycle(&mut self) {
        self.written = 0;
        if self.queue.capacity() > KEPT {
            self.hint = self.queue.len().min(AT_ONCE);
            self.queue = Vec::new();
        } else {
            self.queue.clear();
        }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> FrameSink for Sink<W> {
    fn push(&mut self, frame: &[u8]) {
        if self.queue.capacity() == 0 {
            self.queue.reserve(self.hint);
        }
        self.framing.encode(frame, &mut self.queue);
    }

    fn queued(&self) -> usize {
        // While the writer holds something back, it has to be flushed again.
        (self.queue.len() - self.written).max(usize::from(self.needs_flush))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        while self.written < self.queue.len() {
            let rest = &self.queue[self.written..];
            match ready!(Pin::new(&mut self.writer).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into())),
                written => self.written += written,
            }
            self.needs_flush = true;
            self.activity.0.fetch_add(1, Ordering::Relaxed);
        }
        if self.needs_flush {
            self.recycle();
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        ready!(self.poll_flush(cx))?;
        match ready!(Pin::new(&mut self.writer).poll_shutdown(cx)) {
            // The far side was faster: there is nobody left to be told.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            closed => Poll::Ready(closed.map_err(ConnectionError::from)),
        }
    }
}
