//! Frames from a byte stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_core::{ConnectionError, FrameSource, Share};
use tokio::io::AsyncRead;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::io::poll_read_buf;

use super::StreamOptions;
use super::sink::HasWritten;
use crate::framing::FrameDecoder;

/// As much as is read at once by a connection of which nothing else is known.
const SMALL: usize = 4 << 10;
/// As much as is read at once at most.
const LARGE: usize = 64 << 10;

/// The reading half of a byte stream. One read yields many frames.
#[derive(Debug)]
pub struct StreamSource<R> {
    reader: R,
    decoder: FrameDecoder,
    /// How much the next read may bring.
    room: usize,
    has_ended: bool,
    watch: Watch,
    /// Covers the message being received.
    share: Share,
}

/// Sees to it that something comes at all, and that what has begun ends.
#[derive(Debug)]
struct Watch {
    message_time: Duration,
    /// None once a byte came.
    first_byte_time: Option<Duration>,
    has_written: HasWritten,
    awaits: Option<Awaits>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What is waited for, within a time that runs while it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    FirstByte,
    RestOfMessage,
}

impl<R> StreamSource<R> {
    pub(super) fn new(reader: R, options: &StreamOptions, has_written: HasWritten) -> StreamSource<R> {
        let decoder = FrameDecoder::new(options.framing, options.settings.limits.longest_frame());
        let StreamOptions { message_time, first_byte_time, .. } = *options;
        let watch = Watch { message_time, first_byte_time, has_written, awaits: None, timer: None };
        let share = options.account.as_ref().map_or_else(Share::default, Share::of);
        StreamSource { reader, decoder, room: SMALL, has_ended: false, watch, share }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> FrameSource for StreamSource<R> {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        loop {
            if let Some(frame) = self.decoder.next_frame().transpose() {
                self.watch.awaits = None;
                return Poll::Ready(Some(frame.map(|frame| self.share.seal(frame))));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            if !self.share.cover(self.decoder.buffer().len()) {
                self.has_ended = true;
                return Poll::Ready(Some(Err(ConnectionError::NoRoom)));
            }
            let Poll::Ready(read) = self.poll_read(cx) else {
                let is_partial = self.decoder.is_partial();
                return self.watch.poll(cx, is_partial).map(|end| {
                    self.has_ended = true;
                    end.map(Err)
                });
            };
            match read {
                Ok(true) => {}
                Ok(false) => {
                    self.has_ended = true;
                    return Poll::Ready(self.decoder.finish().transpose());
                }
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }
}

impl<R: AsyncRead + Unpin> StreamSource<R> {
    /// Reads what is there; false at the end of the stream.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let room = self.room;
        let buffer = self.decoder.buffer();
        if buffer.is_empty() && buffer.capacity() > 2 * room {
            // What a long message needed is given back.
            *buffer = BytesMut::new();
        }
        if buffer.capacity() - buffer.len() < room / 2 {
            buffer.reserve(room);
        }
        let space = buffer.capacity() - buffer.len();
        let read = poll_read_buf(Pin::new(&mut self.reader), cx, buffer);
        match &read {
            Poll::Pending => self.room = SMALL,
            Poll::Ready(Ok(0)) => return Poll::Ready(Ok(false)),
            // It came in one piece: there may be more of it.
            Poll::Ready(Ok(bytes)) if *bytes == space => self.room = (room * 2).min(LARGE),
            Poll::Ready(_) => {}
        }
        if read.is_ready() {
            self.watch.first_byte_time = None;
        }
        read.map_ok(|_| true)
    }
}

impl Watch {
    /// Ready when the time is over: with an error, or in good order.
    fn poll(&mut self, cx: &mut Context<'_>, is_partial: bool) -> Poll<Option<ConnectionError>> {
        let (awaits, time) = match self.first_byte_time {
            _ if is_partial => (Awaits::RestOfMessage, self.message_time),
            // A side that speaks first may have to wait for its peer.
            Some(time) if !self.has_written.get() => (Awaits::FirstByte, time),
            _ => {
                (self.awaits, self.timer) = (None, None);
                return Poll::Pending;
            }
        };
        if self.awaits != Some(awaits) {
            self.awaits = Some(awaits);
            let until = Instant::now().checked_add(time).unwrap_or_else(far_away);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(until),
                None => self.timer = Some(Box::pin(sleep_until(until))),
            }
        }
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        timer.as_mut().poll(cx).map(|()| match awaits {
            Awaits::RestOfMessage => {
                Some(ConnectionError::CutOff(format!("it was not complete within {time:?} (message_time)")))
            }
            Awaits::FirstByte => {
                tracing::debug!(
                    "closing a connection: its peer sent nothing within {time:?} (first_byte_time)"
                );
                None
            }
        })
    }
}

/// A moment that does not come.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(60 * 60 * 24 * 365)
}
