//! The reading half: hop ①. Messages go to the driver; pings, pongs and the close frame are handled here.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use switchboard_core::{Account, ConnectionError, FrameSource, Share};
use tokio::io::ReadBuf;
use tokio::time::{Instant, Sleep};

use super::clock::{Clock, Verdict};
use super::close::{Close, CloseCode, Violation};
use super::decoder::{Decoded, MessageDecoder};
use super::options::WebSocketOptions;
use super::shared::{DuplexIo, Shared};

/// Incoming messages.
///
/// While idle it holds no buffer: bytes are read to the stack, and copied to a buffer of their size.
#[derive(Debug)]
pub struct WebSocketSource<S> {
    shared: Arc<Shared<S>>,
    decoder: Option<MessageDecoder>,
    unread: BytesMut,
    clock: Clock,
    timer: Pin<Box<Sleep>>,
    /// Covers the message being received.
    share: Share,
}

/// How much is read at once.
const CHUNK: usize = 32 << 10;
/// How often is read in one go without a message, before others have a turn.
const READS: usize = 32;

impl<S: DuplexIo> WebSocketSource<S> {
    pub(super) fn new(
        shared: Arc<Shared<S>>,
        decoder: MessageDecoder,
        unread: BytesMut,
        options: &WebSocketOptions,
    ) -> Self {
        let now = Instant::now();
        let mut clock = Clock::start(options, now);
        let due = match clock.decide(now, None) {
            Verdict::Until(due) => due,
            _ => now,
        };
        let timer = Box::pin(tokio::time::sleep_until(due));
        WebSocketSource { shared, decoder: Some(decoder), unread, clock, timer, share: Share::default() }
    }

    /// The same source for a connection whose messages take this memory.
    pub(crate) fn within(mut self, account: &Arc<Account>) -> Self {
        self.share = Share::of(account);
        self
    }

    /// The next message of what was read already.
    #[inline]
    fn next(&mut self) -> Result<Next, ConnectionError> {
        let Some(decoder) = &mut self.decoder else { return Err(gone()) };
        loop {
            match decoder.next(&mut self.unread) {
                Ok(Decoded::Message(kind, message)) => {
                    self.shared.note_kind(kind);
                    self.clock.note_message();
                    return Ok(Next::Message(self.share.seal(message)));
                }
                Ok(Decoded::Ping(payload)) => self.shared.want_pong(payload),
                Ok(Decoded::Pong) => {}
                Ok(Decoded::Close(close)) => return Err(self.closed(close)),
                Ok(Decoded::More(_)) if !self.share.cover(self.unread.len() + decoder.held()) => {
                    return Err(self.refused());
                }
                Ok(Decoded::More(missing)) => return Ok(Next::Missing(missing)),
                Err(violation) => return Err(self.violated(violation)),
            }
        }
    }

    fn closed(&mut self, close: Option<Close>) -> ConnectionError {
        let text = match &close {
            Some(close) => close.to_string(),
            None => "without a code".to_owned(),
        };
        self.shared.control().closed = Some(close);
        ConnectionError::Closed(text)
    }

    fn violated(&mut self, violation: Violation) -> ConnectionError {
        // Nothing can be read after this.
        self.decoder = None;
        self.shared.control().verdict = Some((violation.code(), violation.to_string()));
        match violation {
            Violation::TooLong { length, limit } => {
                ConnectionError::FrameTooLong { length: Some(length), limit }
            }
            other => ConnectionError::Framing(other.to_string()),
        }
    }

    fn refused(&mut self) -> ConnectionError {
        // The rest of the message is not read.
        self.decoder = None;
        let reason = "too much data is being received at once".to_owned();
        self.shared.control().verdict = Some((CloseCode::TRY_AGAIN_LATER, reason));
        ConnectionError::NoRoom
    }

    /// Reads what is there; the number of bytes.
    fn poll_read(&mut self, cx: &mut Context<'_>, missing: usize) -> Poll<io::Result<usize>> {
        if missing > CHUNK {
            return self.poll_read_long(cx, missing);
        }
        let mut chunk = [const { MaybeUninit::uninit() }; CHUNK];
        let mut chunk = ReadBuf::uninit(&mut chunk);
        ready!(self.shared.poll_read(cx, &mut chunk))?;
        self.unread.extend_from_slice(chunk.filled());
        Poll::Ready(Ok(chunk.filled().len()))
    }

    /// Reads a part of a long message to where it stays. The room grows with what has come, not with what is announced.
    fn poll_read_long(&mut self, cx: &mut Context<'_>, missing: usize) -> Poll<io::Result<usize>> {
        let room = missing.min(self.unread.len().max(CHUNK));
        self.unread.reserve(room);
        self.shared.poll_read_buf(cx, &mut self.unread)
    }

    /// Nothing comes for now: looks at the clock.
    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionError> {
        let is_within = self.decoder.as_ref().is_some_and(MessageDecoder::is_within_message);
        if let Some(due) = self.clock.note_pause(is_within || !self.unread.is_empty())
            && due < self.timer.deadline()
        {
            self.timer.as_mut().reset(due);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let stalled = self.shared.control().stalled;
            let due = match self.clock.decide(Instant::now(), stalled) {
                Verdict::Until(due) => due,
                Verdict::Ping(due) => {
                    self.shared.want_ping();
                    due
                }
                Verdict::Dead => return Poll::Ready(timed_out("it is not responding, and sent no pong")),
                Verdict::Stalled => return Poll::Ready(timed_out("it is not reading")),
                Verdict::Slow => {
                    let reason = "a message did not arrive in time".to_owned();
                    self.shared.control().verdict = Some((CloseCode::POLICY, reason.clone()));
                    return Poll::Ready(ConnectionError::CutOff(reason));
                }
            };
            self.timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

enum Next {
    Message(Bytes),
    Missing(usize),
}

impl<S: DuplexIo> FrameSource for WebSocketSource<S> {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        for _ in 0..READS {
            let missing = match self.next() {
                Ok(Next::Message(message)) => return Poll::Ready(Some(Ok(message))),
                Ok(Next::Missing(missing)) => missing,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if self.unread.is_empty() && self.unread.capacity() > 0 {
                self.unread = BytesMut::new();
            }
            match self.poll_read(cx, missing) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Some(Err(gone()))),
                Poll::Ready(Ok(_)) => self.clock.note_read(Instant::now()),
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Poll::Pending => return self.poll_clock(cx).map(|error| Some(Err(error))),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Unread bytes are left to the code that ends the connection.
impl<S> Drop for WebSocketSource<S> {
    fn drop(&mut self) {
        if let Some(decoder) = self.decoder.take() {
            self.shared.control().unread = Some((decoder, std::mem::take(&mut self.unread)));
        }
    }
}

fn gone() -> ConnectionError {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended without a close frame").into()
}

fn timed_out(text: &'static str) -> ConnectionError {
    io::Error::new(io::ErrorKind::TimedOut, text).into()
}
