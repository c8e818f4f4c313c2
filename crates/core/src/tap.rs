//! A look at the wire: each message as it is sent and received, for whoever debugs.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::connection::{ConnectionError, FrameSink, FrameSource};

/// Sees what goes over the wire. Cheap to clone; drivers and clients take it from
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
/// let settings = Settings { tap: Some(tap), ..Settings::default() };
/// ```
#[derive(Clone)]
pub struct Tap(Arc<dyn Fn(Direction, Wire<'_>) + Send + Sync>);

/// Which way something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the far side.
    Sent,
    /// From the far side.
    Received,
}

/// What goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire<'a> {
    /// One message or batch, without its framing. What was received may be anything.
    Message(&'a [u8]),
    /// What the carrier says around messages, over one or more lines, such as the head of a request. Whoever gives it leaves
    /// out what is secret by its nature, such as credentials.
    Carrier(&'a str),
}

impl Tap {
    /// A tap that calls this with all that goes over the wire.
    pub fn new(see: impl Fn(Direction, Wire<'_>) + Send + Sync + 'static) -> Tap {
        Tap(Arc::new(see))
    }

    /// Shows it this.
    pub fn show(&self, direction: Direction, what: Wire<'_>) {
        (self.0)(direction, what);
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap(..)")
    }
}

/// Frames that somebody sees as they come.
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

/// Frames that somebody sees as they go.
pub(crate) struct TappedSink {
    pub(crate) sink: Box<dyn FrameSink>,
    pub(crate) tap: Tap,
}

impl FrameSink for TappedSink {
    fn push(&mut self, frame: &[u8]) {
        self.tap.show(Direction::Sent, Wire::Message(frame));
        self.sink.push(frame);
    }

    fn queued(&self) -> usize {
        self.sink.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.sink.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.sink.poll_close(cx)
    }
}
