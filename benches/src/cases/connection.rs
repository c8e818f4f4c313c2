//! Switchboard in process behind its duplex driver: frames in, frames out.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use switchboard::{Connection, ConnectionError, Engine, FrameSink, FrameSource, Origin};

use super::Case;
use super::switchboard::{router, settings};

/// Switchboard's router behind a [`Connection`], over frames in memory.
pub struct Duplex {
    connection: RefCell<Connection>,
    frames: Frames,
}

impl Duplex {
    /// With the same methods and settings as [`Switchboard`](super::switchboard::Switchboard).
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let frames = Frames::default();
        let sink = Sink { frames: frames.clone(), queued: Vec::new() };
        let origin = Origin::new("bench");
        let (_, connection) =
            Connection::new(frames.clone(), sink, Engine::new(router(), settings()), origin);
        Self { connection: RefCell::new(connection), frames }
    }

    /// Queues this frame `count` times.
    pub(super) fn receive(&self, frame: &Bytes, count: u32) {
        self.frames.lock().received = (frame.clone(), count);
    }

    /// Drives the connection until it has read all frames and written something.
    pub(super) fn poll_written(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.frames.lock().written.clear();
        let ended = Pin::new(&mut *self.connection.borrow_mut()).poll(cx);
        assert!(ended.is_pending(), "the connection ended: {ended:?}");
        let frames = self.frames.lock();
        if frames.received.1 > 0 || frames.written.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    /// A copy of what the connection wrote last.
    pub(super) fn written(&self) -> Bytes {
        Bytes::copy_from_slice(&self.frames.lock().written)
    }
}

impl Case for Duplex {
    fn name(&self) -> &'static str {
        "switchboard-connection"
    }

    fn call(&self, frame: Bytes) -> Bytes {
        self.run(&frame, 1);
        self.written()
    }

    /// The frames arrive in one burst, so the cost of polling and flushing is shared by many calls.
    fn run(&self, frame: &Bytes, calls: u32) {
        self.receive(frame, calls);
        // Each poll reads a limited number of frames.
        for _ in 0..=calls {
            if self.poll_written(&mut Context::from_waker(Waker::noop())).is_ready() {
                return;
            }
        }
        panic!("a case that waits cannot be measured in place");
    }
}

/// Both directions of a minimal transport.
#[derive(Clone, Default)]
struct Frames(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// A frame, and how many times it is still to be received.
    received: (Bytes, u32),
    written: Vec<u8>,
}

impl Frames {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrameSource for Frames {
    fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        // No waker is needed: the connection is polled after each `receive`.
        let (frame, count) = &mut self.lock().received;
        let Some(left) = count.checked_sub(1) else { return Poll::Pending };
        *count = left;
        Poll::Ready(Some(Ok(frame.clone())))
    }
}

/// Reuses its buffer, as the sinks of sockets do.
struct Sink {
    frames: Frames,
    queued: Vec<u8>,
}

impl FrameSink for Sink {
    fn push(&mut self, frame: &[u8]) {
        self.queued.extend_from_slice(frame);
    }

    fn queued(&self) -> usize {
        self.queued.len()
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        if !self.queued.is_empty() {
            let mut frames = self.frames.lock();
            std::mem::swap(&mut frames.written, &mut self.queued);
            self.queued.clear();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.poll_flush(cx)
    }
}
