//! Frames to a child, as long as it reads.

use std::io::ErrorKind;
use std::task::{Context, Poll};

use switchboard_core::{ConnectionError, FrameSink};
use tokio::net::unix::pipe::Sender;

use crate::stream;

/// The child's input. It is not an error here if it is no longer read: the [source](super::source::Source) tells how the
/// child ended, which says more.
pub(super) struct Sink {
    frames: stream::StreamSink<Sender>,
    is_closed: bool,
}

impl Sink {
    pub(super) fn new(frames: stream::StreamSink<Sender>) -> Sink {
        Sink { frames, is_closed: false }
    }

    fn note(&mut self, written: Poll<Result<(), ConnectionError>>) -> Poll<Result<(), ConnectionError>> {
        match written {
            Poll::Ready(Err(ConnectionError::Io(error))) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Poll::Ready(Ok(()))
            }
            written => written,
        }
    }
}

impl FrameSink for Sink {
    fn push(&mut self, frame: &[u8]) {
        if !self.is_closed {
            self.frames.push(frame);
        }
    }

    fn queued(&self) -> usize {
        if self.is_closed { 0 } else { self.frames.queued() }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        if self.is_closed {
            return Poll::Ready(Ok(()));
        }
        let written = self.frames.poll_flush(cx);
        self.note(written)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        if self.is_closed {
            return Poll::Ready(Ok(()));
        }
        let closed = self.frames.poll_close(cx);
        self.note(closed)
    }
}
