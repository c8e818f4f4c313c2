//! What a duplex transport gives the driver: frames in, frames out.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

/// Where frames come from. One frame is one message or batch.
pub trait FrameSource: Send + Unpin + 'static {
    /// The next frame. Frames that are there already should all be ready in turn, so that many are handled before
    /// anything is written.
    ///
    /// `None` means that the peer has finished sending and may still read: what is under way is finished. An error
    /// means that it is gone.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>>;
}

/// Where frames go to.
pub trait FrameSink: Send + Unpin + 'static {
    /// Queues one frame behind the others. Never waits.
    fn push(&mut self, frame: &[u8]);

    /// How many bytes are queued and not yet written.
    fn queued(&self) -> usize;

    /// Writes what is queued, in as few writes as can be.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>>;

    /// Writes what is queued, then tells the peer that nothing follows.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>>;
}

/// Why a connection ended before its time; returned once, by its driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The carrier failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The peer ended the connection by means of the transport, and reads no more either. Calls under way are
    /// cancelled, because their answers would not be read.
    #[error("the far side is gone: {0}")]
    Closed(String),
    /// The peer sent something that the transport's framing does not allow.
    #[error("the far side broke the framing: {0}")]
    Framing(String),
    /// A message began and its end never came: the stream ended in the middle of it, or its time was over. Half a
    /// message is not answered: an error without identifier could be taken for the answer to a call that never came,
    /// and its sender has to see that the connection broke.
    #[error("a message was cut off: {0}")]
    CutOff(String),
    /// A frame is longer than [any may be](crate::Limits::longest_frame).
    #[error("a frame{} exceeds the limit of {limit} bytes (limits.frame, limits.batch_reply)", announced(*.length))]
    FrameTooLong {
        /// How many bytes it has, if it was announced.
        length: Option<u64>,
        /// How many it may have.
        limit: usize,
    },
    /// A frame would not fit in beside what is being received from others. It may be sent again later.
    #[error("a frame does not fit in beside those of other connections")]
    NoRoom,
    /// The [admission](crate::Settings::admission) refused it.
    #[error("the connection was not admitted: {0}")]
    NotAdmitted(String),
    /// The peer takes what it is sent too slowly.
    #[error(
        "the peer is too slow: it took less than 16 KiB of {queued} bytes within {time:?} (limits.send_time)"
    )]
    Stalled {
        /// How many bytes wait.
        queued: usize,
        /// How long it had.
        time: Duration,
    },
    /// The peer does not read what it is sent.
    #[error("the peer is too slow: {queued} bytes wait to be sent, the limit is {limit} (limits.outbox)")]
    SlowReader {
        /// How many bytes wait.
        queued: usize,
        /// How many may.
        limit: usize,
    },
}

fn announced(length: Option<u64>) -> String {
    length.map_or_else(String::new, |length| format!(" of {length} bytes"))
}
