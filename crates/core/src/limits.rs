//! How much is too much.

use std::time::Duration;

/// Every limit of the core, each checked in exactly one place.
///
/// # Examples
///
/// ```
/// use switchboard_core::Limits;
///
/// let limits = Limits { batch: 1000, ..Limits::default() };
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in one received frame or body with calls: 4 MiB. Transports refuse more before they buffer it (SEC-L-01).
    /// More than 4 GiB are refused whatever this says.
    /// A frame with answers to our own calls may be as long as answers may be, see
    /// [`longest_frame`](Limits::longest_frame).
    pub frame: usize,
    /// Entries in one batch: 100. One more and none runs (SEC-L-02).
    pub batch: usize,
    /// Levels of nesting, the message itself included: 128 (SEC-L-05).
    pub depth: usize,
    /// Members of one object or elements of one array: 100,000 (SEC-L-06).
    pub members: usize,
    /// Characters of one number: 1024 (SEC-L-07).
    pub number: usize,
    /// Bytes of a method's name: 256 (SEC-L-08).
    pub name: usize,
    /// Bytes of an identifier: 1024 (SEC-L-09).
    pub id: usize,
    /// Bytes of one reply: 10 MiB. A longer one is replaced by -32007 (SEC-L-03).
    pub reply: usize,
    /// Bytes of all replies to one batch: 25 MiB. What would exceed it is answered with -32007 (SEC-L-04).
    pub batch_reply: usize,
    /// Calls of one connection that are under way at once: 100. One more is refused with -32005 (SEC-L-10). A call that
    /// is answered at its first step is never under way, so that any number of those can be pipelined; but while all
    /// places are taken it is refused too, for nobody knows before it has begun.
    pub in_flight: usize,
    /// Entries of one batch that run at once: 16.
    pub batch_concurrency: usize,
    /// Streams of one connection that are open at once: 1024 (SEC-L-13).
    pub subscriptions: usize,
    /// Items that wait for a consumer on this side, for each stream: 1024. With so many, or with half of
    /// [`outbox`](Limits::outbox), the connection reads no more until the consumer has caught up, unless a call of this
    /// side waits for its answer. So a stream goes as fast as it is read.
    pub items: usize,
    /// How long at a time a connection reads nothing because the consumer of a stream is behind: 2 s. Then it reads a
    /// little, for the others on it. What waits for the consumer thus grows, and when it is more than
    /// [`outbox`](Limits::outbox) the stream ends.
    pub stall_time: Duration,
    /// Bytes that wait to be sent on one connection: 16 MiB. Past half of it our own calls, notifications and streams
    /// wait; past all of it, not counting the longest frame, the far side is too slow and the connection ends
    /// (SEC-L-14). Items of one stream that wait for a consumer may take as much; one more ends the stream.
    pub outbox: usize,
    /// How long a peer may take less than 16 KiB, or less than all, of what waits to be sent to it: 30 s, then the connection ends.
    /// Answers of a sixteenth of [`outbox`](Limits::outbox) that wait to be sent keep the connection from being read, unless
    /// something on this side waits for the peer.
    pub send_time: Duration,
    /// How long a call may run: 30 s, then it is cancelled and answered with -32003 (SEC-L-12).
    pub call_time: Duration,
    /// How long calls that are under way may take to finish once the connection is to end: 10 s.
    pub drain_time: Duration,
}

impl Limits {
    /// Bytes that a frame of a duplex connection may have, whatever it holds: room for calls and for answers.
    #[must_use]
    pub fn longest_frame(&self) -> usize {
        let envelope = 64 << 10;
        self.frame.max(self.reply.max(self.batch_reply).saturating_add(envelope))
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            frame: 4 << 20,
            batch: 100,
            depth: 128,
            members: 100_000,
            number: 1024,
            name: 256,
            id: 1024,
            reply: 10 << 20,
            batch_reply: 25 << 20,
            in_flight: 100,
            batch_concurrency: 16,
            subscriptions: 1024,
            items: 1024,
            stall_time: Duration::from_secs(2),
            outbox: 16 << 20,
            send_time: Duration::from_secs(30),
            call_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(10),
        }
    }
}
