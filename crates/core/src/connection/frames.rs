//! The interface of a duplex transport: frames in, frames out.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

/// A source of frames. One frame is one message or batch.
pub trait FrameSource: Send + Unpin + 'static {
    /// The next frame. All frames that have already arrived should be ready in turn, so that many are handled before
    /// anything is written.
    ///
    /// `None` means that the peer has finished sending and may still read: calls in flight are finished. An error
    /// means that it is gone.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>>;
}

/// A sink for frames.
pub trait FrameSink: Send + Unpin + 'static {
    /// Queues one frame. Never waits.
    fn push(&mut self, frame: &[u8]);

    /// How many bytes are queued and not yet written.
    fn queued(&self) -> usize;

    /// Writes the queued frames, in as few writes as possible.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>>;

    /// Writes the queued frames, then tells the peer that nothing follows.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>>;
}

/// Why a connection failed; returned once, by its driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The transport failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The peer closed the connection through the transport, and no longer reads either. Calls in flight are
    /// cancelled, because their responses would not be read.
    #[error("the peer closed the connection: {0}")]
    Closed(String),
    /// The peer sent something that the transport's framing does not allow.
    #[error("invalid framing: {0}")]
    Framing(String),
    /// A message started but did not end: the stream ended in the middle of it, or it timed out. Half a
    /// message gets no response: an error without identifier could be mistaken for the response to another call,
    /// and the sender has to see that the connection broke.
    #[error("incomplete message: {0}")]
    CutOff(String),
    /// A frame exceeds the [limit](crate::Limits::longest_frame).
    #[error("a frame{} exceeds the limit of {limit} bytes (limits.frame, limits.batch_reply)", announced(*.length))]
    FrameTooLong {
        /// Its size in bytes, if announced.
        length: Option<u64>,
        /// The limit in bytes.
        limit: usize,
    },
    /// There is no memory for a frame beside what is being received from others. It may be sent again later.
    #[error("not enough memory for this frame: other connections are receiving too much")]
    NoRoom,
    /// The [admission](crate::Settings::admission) refused the connection.
    #[error("the connection was rejected: {0}")]
    NotAdmitted(String),
    /// The peer reads too slowly.
    #[error(
        "the peer reads too slowly: it took less than 16 KiB of {queued} bytes within {time:?} (limits.send_time)"
    )]
    Stalled {
        /// How many bytes are waiting.
        queued: usize,
        /// How much time it had.
        time: Duration,
    },
    /// The peer does not read.
    #[error(
        "the peer reads too slowly: {queued} bytes are waiting to be sent; the limit is {limit} (limits.outbox)"
    )]
    SlowReader {
        /// How many bytes are waiting.
        queued: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

fn announced(length: Option<u64>) -> String {
    length.map_or_else(String::new, |length| format!(" of {length} bytes"))
}
