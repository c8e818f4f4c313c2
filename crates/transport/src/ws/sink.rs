//! The writing half: hop ⑥. Queued messages are sent in one write.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use switchboard_core::{ConnectionError, FrameSink};
use tokio::time::Instant;

use super::frame::{self, Opcode, Role};
use super::masks::Masks;
use super::shared::{DuplexIo, Shared};

/// Outgoing messages, each in the kind that the peer used last: text at first.
#[derive(Debug)]
pub struct WebSocketSink<S> {
    shared: Arc<Shared<S>>,
    /// Whole frames; the first `sent` bytes are written.
    out: Vec<u8>,
    sent: usize,
    /// How much was written last time, and so how much room to reserve next time.
    usual: usize,
    masks: Option<Box<Masks>>,
}

/// A buffer of this size is kept between writes; a larger one is given back.
const KEPT: usize = 512;
/// The most room that is made at once for what is not there yet.
const ROOM: usize = 64 << 10;

impl<S: DuplexIo> WebSocketSink<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, unsent: Vec<u8>) -> WebSocketSink<S> {
        let masks = (shared.role == Role::Client).then(Box::default);
        WebSocketSink { shared, out: unsent, sent: 0, usual: 0, masks }
    }

    #[inline]
    fn push_frame(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.out.capacity() == 0 {
            self.out.reserve(self.usual.min(ROOM));
        }
        let mask = self.masks.as_mut().map(|masks| masks.next());
        frame::write(&mut self.out, opcode, mask, payload);
    }

    /// Pings and pongs wait until all else is written, so that however many are asked for, few are queued.
    fn push_control(&mut self) {
        if self.shared.has_control() && self.out.len() == self.sent {
            let (ping, pong) = self.shared.take_control();
            if ping {
                self.push_frame(Opcode::Ping, b"");
            }
            if let Some(payload) = pong {
                self.push_frame(Opcode::Pong, &payload);
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            match ready!(self.shared.poll_write(cx, &self.out[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
        }
        self.shared.poll_flush(cx)
    }

    fn clear(&mut self) {
        self.usual = self.out.len();
        self.sent = 0;
        if self.out.capacity() <= KEPT {
            self.out.clear();
        } else {
            self.out = Vec::new();
        }
    }

    /// Remembers since when the peer takes nothing, for the clock.
    fn note(&self, is_stalled: bool, has_moved: bool) {
        let mut control = self.shared.control();
        if !is_stalled {
            control.stalled = None;
        } else if has_moved || control.stalled.is_none() {
            control.stalled = Some(Instant::now());
        }
    }
}

impl<S: DuplexIo> FrameSink for WebSocketSink<S> {
    #[inline]
    fn push(&mut self, frame: &[u8]) {
        self.push_frame(Opcode::Message(self.shared.kind()), frame);
    }

    #[inline]
    fn queued(&self) -> usize {
        (self.out.len() - self.sent).max(usize::from(self.shared.has_control()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        loop {
            self.push_control();
            let before = self.sent;
            let written = self.poll_write(cx)?;
            self.note(written.is_pending(), self.sent > before);
            ready!(written);
            self.clear();
            if !self.shared.has_control() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// The close frame is written by the code that runs the connection, when the reason is known.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.poll_flush(cx)
    }
}

/// Unwritten messages are left to the code that ends the connection: a close frame comes after them.
impl<S> Drop for WebSocketSink<S> {
    fn drop(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.drain(..self.sent);
        self.shared.control().unsent = out;
    }
}
