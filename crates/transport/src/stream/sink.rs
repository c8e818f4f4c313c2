//! Frames into a byte stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use switchboard_core::{ConnectionError, FrameSink};
use tokio::io::AsyncWrite;

use crate::framing::Framing;

/// A buffer that is larger is given back when it is empty.
const KEPT: usize = 4 << 10;
/// As much as a new buffer is made to hold at once.
const AT_ONCE: usize = 64 << 10;

/// The writing half of a byte stream. Queued frames are sent in one write.
#[derive(Debug)]
pub struct StreamSink<W> {
    writer: W,
    framing: Framing,
    queue: Vec<u8>,
    written: usize,
    /// How much was queued at once when the buffer was last given back.
    hint: usize,
    /// Whether the writer may still hold something back.
    needs_flush: bool,
    has_written: HasWritten,
}

/// Whether anything was written, for the reading half.
#[derive(Clone, Debug, Default)]
pub(super) struct HasWritten(Arc<AtomicBool>);

impl HasWritten {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<W> StreamSink<W> {
    pub(super) fn new(writer: W, framing: Framing) -> StreamSink<W> {
        let has_written = HasWritten::default();
        StreamSink {
            writer,
            framing,
            queue: Vec::new(),
            written: 0,
            hint: 0,
            needs_flush: false,
            has_written,
        }
    }

    pub(super) fn has_written(&self) -> HasWritten {
        self.has_written.clone()
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

impl<W: AsyncWrite + Send + Unpin + 'static> FrameSink for StreamSink<W> {
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
            self.has_written.0.store(true, Ordering::Relaxed);
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
            // The peer was faster: it is already gone.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            closed => Poll::Ready(closed.map_err(ConnectionError::from)),
        }
    }
}
