//! A view of the wire: each message as it is sent and received, for debugging.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::connection::{ConnectionError, FrameSink, FrameSource};

/// Sees everything that goes over the wire. Cheap to clone; drivers and clients take it from
/// [`Settings::tap`](crate::Settings::tap).
///
/// It sees parameters and results, which may be secrets. It is called where messages are read and written, in their
/// order, so it must not block for long.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Settings, Tap, Wire};
///
/// let tap = Tap::new(|direction, what| {
///     if let Wire::Message(text) = what {
///         eprintln!("{direction:?} {}", String::from_utf8_lossy(text));
///     }
/// });
/// let settings = Settings::default().with_tap(Some(tap));
/// ```
#[derive(Clone)]
pub struct Tap(Arc<dyn Fn(Direction, Wire<'_>) + Send + Sync>);

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the peer.
    Sent,
    /// From the peer.
    Received,
}

/// Something that goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire<'a> {
    /// One message or batch, without its framing. Received messages may be anything.
    Message(&'a [u8]),
    /// What the transport sends around messages, in one or more lines, such as the head of a request. Secrets such as
    /// credentials are left out.
    Carrier(&'a str),
}

impl Tap {
    /// A tap that calls this function with everything that goes over the wire.
    pub fn new(see: impl Fn(Direction, Wire<'_>) + Send + Sync + 'static) -> Tap {
        Tap(Arc::new(see))
    }

    /// Passes something to the tap.
    pub fn show(&self, direction: Direction, what: Wire<'_>) {
        (self.0)(direction, what);
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap(..)")
    }
}

/// Frames that a tap sees as they arrive.
pub(crate) struct TappedSource {
    pub(crate) source: Box<dyn FrameSource>,
    pub(crate) tap: Tap,
}

impl FrameSource for TappedSource {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        let polled = self.source.poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.tap.show(Direction::Received, Wire::Message(frame));
        }
        polled
    }
}

/// Frames that a tap sees when they have been sent.
pub(crate) struct TappedSink {
    sink: Box<dyn FrameSink>,
    tap: Tap,
    /// Frames that wait, each with the number of bytes that the sink had queued in its life up to the frame's end.
    waiting: VecDeque<(Bytes, u64)>,
    /// That number now.
    taken: u64,
}

impl TappedSink {
    pub(crate) fn new(sink: Box<dyn FrameSink>, tap: Tap) -> TappedSink {
        TappedSink { sink, tap, waiting: VecDeque::new(), taken: 0 }
    }

    /// Shows the frames that have been written as a whole.
    fn written<T>(&mut self, polled: Poll<Result<T, ConnectionError>>) -> Poll<Result<T, ConnectionError>> {
        if matches!(polled, Poll::Ready(Err(_))) {
            return polled;
        }
        let written = self.taken.saturating_sub(self.sink.queued() as u64);
        while self.waiting.front().is_some_and(|(_, end)| *end <= written)
            && let Some((frame, _)) = self.waiting.pop_front()
        {
            self.tap.show(Direction::Sent, Wire::Message(&frame));
        }
        polled
    }
}

impl FrameSink for TappedSink {
    fn push(&mut self, frame: &[u8]) {
        let before = self.sink.queued();
        self.sink.push(frame);
        self.taken += self.sink.queued().saturating_sub(before) as u64;
        self.waiting.push_back((Bytes::copy_from_slice(frame), self.taken));
    }

    fn queued(&self) -> usize {
        self.sink.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let polled = self.sink.poll_flush(cx);
        self.written(polled)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let polled = self.sink.poll_close(cx);
        self.written(polled)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use futures_util::task::noop_waker_ref;

    use super::*;

    /// A sink that writes so many bytes with each flush, and fails after that.
    struct Slow {
        queued: usize,
        steps: Vec<usize>,
    }

    impl FrameSink for Slow {
        fn push(&mut self, frame: &[u8]) {
            self.queued += frame.len() + 1;
        }

        fn queued(&self) -> usize {
            self.queued
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
            let Some(step) = self.steps.pop() else {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::BrokenPipe).into()));
            };
            self.queued = self.queued.saturating_sub(step);
            if self.queued == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
        }

        fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
            self.poll_flush(cx)
        }
    }

    #[test]
    fn a_frame_is_seen_when_all_of_it_was_written() {
        let seen = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&seen);
        let tap = Tap::new(move |_, what| {
            if let Wire::Message(text) = what {
                kept.lock().unwrap().push_str(std::str::from_utf8(text).unwrap());
            }
        });
        let mut sink = TappedSink::new(Box::new(Slow { queued: 0, steps: vec![3, 2, 2, 3, 2] }), tap);
        let mut cx = Context::from_waker(noop_waker_ref());
        let mut flush = |sink: &mut TappedSink, expected: &str| {
            let _ = sink.poll_flush(&mut cx);
            assert_eq!(*seen.lock().unwrap(), expected);
        };
        sink.push(b"aaa");
        sink.push(b"bb");
        flush(&mut sink, "");
        flush(&mut sink, "aaa");
        flush(&mut sink, "aaabb");
        sink.push(b"cccc");
        flush(&mut sink, "aaabb");
        flush(&mut sink, "aaabbcccc");
        // What the peer did not get is not shown.
        sink.push(b"d");
        flush(&mut sink, "aaabbcccc");
    }
}
