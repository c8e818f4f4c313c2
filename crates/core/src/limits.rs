//! The limits of the core.

use std::time::Duration;

/// Every limit of the core, each checked in exactly one place.
///
/// # Examples
///
/// ```
/// use switchboard_core::Limits;
///
/// let limits = Limits::default().with_batch(1000);
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes in one received frame or body with calls: 4 MiB. Transports reject more before they buffer it (SEC-L-01).
    /// More than 4 GiB is always rejected.
    /// A frame with responses to our own calls may be as long as responses may be, see
    /// [`longest_frame`](Limits::longest_frame).
    pub frame: usize,
    /// Entries in one batch: 100. A larger batch is rejected as a whole (SEC-L-02).
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
    /// Bytes of all replies to one batch: 25 MiB. Replies beyond it are replaced by -32007 (SEC-L-04).
    pub batch_reply: usize,
    /// Calls of one connection in flight at once: 100. Further calls are rejected with -32005 (SEC-L-10). A call that
    /// is answered at its first step is never in flight, so any number of those can be pipelined; but while the
    /// limit is reached they are rejected too, because that is known only after a call has started.
    pub in_flight: usize,
    /// Entries of one batch that run at once: 16.
    pub batch_concurrency: usize,
    /// Open streams of one connection: 1024 (SEC-L-13).
    pub subscriptions: usize,
    /// Items that wait for a consumer on this side, for each stream: 1024. With so many, or with half of
    /// [`outbox`](Limits::outbox), the connection stops reading until the consumer has caught up, unless a call from this
    /// side waits for its response. So a stream runs as fast as it is read.
    pub items: usize,
    /// How long a connection stops reading at a time because the consumer of a stream is behind: 2 s. Then it reads a
    /// little, for the others on it. If more than [`outbox`](Limits::outbox) then waits for the consumer,
    /// the stream ends.
    pub stall_time: Duration,
    /// Bytes waiting to be sent on one connection: 16 MiB. Above half of it our own calls, notifications and streams
    /// wait; above all of it, not counting the longest frame, the peer is too slow and the connection ends
    /// (SEC-L-14). Items of one stream waiting for a consumer may take as much; one more ends the stream.
    pub outbox: usize,
    /// How long a peer may take less than 16 KiB, or less than all, of the data waiting to be sent to it: 30 s, then the connection ends.
    /// Responses of a sixteenth of [`outbox`](Limits::outbox) waiting to be sent keep the connection from being read, unless
    /// something on this side waits for the peer.
    pub send_time: Duration,
    /// How long a call may run: 30 s, then it is cancelled and answered with -32003 (SEC-L-12).
    pub call_time: Duration,
    /// How long calls in flight may take to finish when the connection is closing: 10 s. The same applies to streams whose reader has
    /// only stopped sending.
    pub drain_time: Duration,
}

impl Limits {
    /// Bytes that a frame of a duplex connection may have, whatever it holds: room for calls and for responses.
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

impl Limits {
    /// Sets [`frame`](Limits::frame).
    #[must_use]
    pub fn with_frame(mut self, frame: usize) -> Limits {
        self.frame = frame;
        self
    }

    /// Sets [`batch`](Limits::batch).
    #[must_use]
    pub fn with_batch(mut self, batch: usize) -> Limits {
        self.batch = batch;
        self
    }

    /// Sets [`depth`](Limits::depth).
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Limits {
        self.depth = depth;
        self
    }

    /// Sets [`members`](Limits::members).
    #[must_use]
    pub fn with_members(mut self, members: usize) -> Limits {
        self.members = members;
        self
    }

    /// Sets [`number`](Limits::number).
    #[must_use]
    pub fn with_number(mut self, number: usize) -> Limits {
        self.number = number;
        self
    }

    /// Sets [`name`](Limits::name).
    #[must_use]
    pub fn with_name(mut self, name: usize) -> Limits {
        self.name = name;
        self
    }

    /// Sets [`id`](Limits::id).
    #[must_use]
    pub fn with_id(mut self, id: usize) -> Limits {
        self.id = id;
        self
    }

    /// Sets [`reply`](Limits::reply).
    #[must_use]
    pub fn with_reply(mut self, reply: usize) -> Limits {
        self.reply = reply;
        self
    }

    /// Sets [`batch_reply`](Limits::batch_reply).
    #[must_use]
    pub fn with_batch_reply(mut self, batch_reply: usize) -> Limits {
        self.batch_reply = batch_reply;
        self
    }

    /// Sets [`in_flight`](Limits::in_flight).
    #[must_use]
    pub fn with_in_flight(mut self, in_flight: usize) -> Limits {
        self.in_flight = in_flight;
        self
    }

    /// Sets [`batch_concurrency`](Limits::batch_concurrency).
    #[must_use]
    pub fn with_batch_concurrency(mut self, batch_concurrency: usize) -> Limits {
        self.batch_concurrency = batch_concurrency;
        self
    }

    /// Sets [`subscriptions`](Limits::subscriptions).
    #[must_use]
    pub fn with_subscriptions(mut self, subscriptions: usize) -> Limits {
        self.subscriptions = subscriptions;
        self
    }

    /// Sets [`items`](Limits::items).
    #[must_use]
    pub fn with_items(mut self, items: usize) -> Limits {
        self.items = items;
        self
    }

    /// Sets [`stall_time`](Limits::stall_time).
    #[must_use]
    pub fn with_stall_time(mut self, stall_time: Duration) -> Limits {
        self.stall_time = stall_time;
        self
    }

    /// Sets [`outbox`](Limits::outbox).
    #[must_use]
    pub fn with_outbox(mut self, outbox: usize) -> Limits {
        self.outbox = outbox;
        self
    }

    /// Sets [`send_time`](Limits::send_time).
    #[must_use]
    pub fn with_send_time(mut self, send_time: Duration) -> Limits {
        self.send_time = send_time;
        self
    }

    /// Sets [`call_time`](Limits::call_time).
    #[must_use]
    pub fn with_call_time(mut self, call_time: Duration) -> Limits {
        self.call_time = call_time;
        self
    }

    /// Sets [`drain_time`](Limits::drain_time).
    #[must_use]
    pub fn with_drain_time(mut self, drain_time: Duration) -> Limits {
        self.drain_time = drain_time;
        self
    }
}
