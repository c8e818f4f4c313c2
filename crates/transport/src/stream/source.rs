//! Frames out of a stream of bytes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_core::{ConnectionError, FrameSource};
use tokio::io::AsyncRead;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::io::poll_read_buf;

use super::Options;
use super::sink::Activity;
use crate::budget::Share;
use crate::framing::Decoder;

/// As much as is read at once by a connection of which nothing else is known.
const SMALL: usize = 4 << 10;
/// As much as is read at once at most.
const LARGE: usize = 64 << 10;

/// The reading half of a stream. One read yields many frames.
#[derive(Debug)]
pub struct Source<R> {
    reader: R,
    decoder: Decoder,
    /// How much the next read may bring.
    room: usize,
    has_ended: bool,
    watch: Watch,
    /// Covers the message that has begun to come.
    share: Share,
}

/// Sees to it that what has begun ends, and that something happens.
#[derive(Debug)]
struct Watch {
    message_time: Duration,
    idle_time: Option<Duration>,
    activity: Activity,
    /// How many writes there were when the time without any began.
    seen: u64,
    awaits: Option<Awaits>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What is waited for, and since when it has been the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    RestOfMessage,
    Message,
}

impl<R> Source<R> {
    pub(super) fn new(reader: R, options: &Options, activity: Activity) -> Source<R> {
        let decoder = Decoder::new(options.framing, options.settings.limits.longest_frame());
        let Options { message_time, idle_time, .. } = *options;
        let watch = Watch { message_time, idle_time, activity, seen: 0, awaits: None, timer: None };
        let share = Share::of(options.budget.as_ref());
        Source { reader, decoder, room: SMALL, has_ended: false, watch, share }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> FrameSource for Source<R> {
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

impl<R: AsyncRead + Unpin> Source<R> {
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
        if matches!(read, Poll::Ready(Ok(_))) && self.watch.awaits == Some(Awaits::Message) {
            self.watch.awaits = None;
        }
        read.map_ok(|_| true)
    }
}

impl Watch {
    /// Ready when the time is over: with an error, or in good order.
    fn poll(&mut self, cx: &mut Context<'_>, is_partial: bool) -> Poll<Option<ConnectionError>> {
        let awaits = if is_partial { Awaits::RestOfMessage } else { Awaits::Message };
        let time = match awaits {
            Awaits::RestOfMessage => Some(self.message_time),
            Awaits::Message => self.idle_time,
        };
        let Some(time) = time else {
            (self.awaits, self.timer) = (None, None);
            return Poll::Pending;
        };
        let writes = self.activity.count();
        if self.awaits != Some(awaits) || (awaits == Awaits::Message && self.seen != writes) {
            (self.awaits, self.seen) = (Some(awaits), writes);
            let until = Instant::now().checked_add(time).unwrap_or_else(far_away);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(until),
                None => self.timer = Some(Box::pin(sleep_until(until))),
            }
        }
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        timer.as_mut().poll(cx).map(|()| match awaits {
            Awaits::RestOfMessage => Some(ConnectionError::CutOff(format!(
                "it was begun and not finished within {time:?} (message_time)"
            ))),
            Awaits::Message => None,
        })
    }
}

/// A moment that does not come.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(60 * 60 * 24 * 365)
}
