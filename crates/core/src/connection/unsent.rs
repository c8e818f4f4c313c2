//! Data waiting to be sent: how much of it is responses, how much memory it uses, and whether the
//! peer reads at all.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use crate::engine::moment_after;
use crate::memory::{SHORT, Share};
use crate::session::Session;

/// Bytes that a peer has to take in each [`send_time`](crate::Limits::send_time), or all that waits for it.
const PACE: usize = 16 << 10;

/// What waits to be sent.
pub(super) struct Unsent {
    /// Bytes of answers since nothing waited. Some of them may be sent already.
    pub(super) answers: usize,
    /// Runs while something waits.
    clock: Option<Box<Clock>>,
    /// Counts the memory of what waits.
    share: Share,
}

struct Clock {
    until: Pin<Box<Sleep>>,
    /// Bytes that the peer has taken since the clock was started.
    taken: usize,
}

impl Unsent {
    /// Nothing waits on this session yet.
    pub(super) fn new(session: &Session) -> Unsent {
        Unsent { answers: 0, clock: None, share: session.share() }
    }

    /// Takes note of a write that left `left` of `before` bytes. Ready when the peer has taken too little for too long.
    pub(super) fn poll(
        &mut self,
        before: usize,
        left: usize,
        time: Duration,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if left > SHORT || before > SHORT {
            self.share.set(left);
        }
        if left == 0 {
            (self.answers, self.clock) = (0, None);
            return Poll::Pending;
        }
        let begin =
            || Box::new(Clock { until: Box::pin(tokio::time::sleep_until(moment_after(time))), taken: 0 });
        let clock = self.clock.get_or_insert_with(begin);
        clock.taken += before - left;
        if clock.taken >= PACE {
            clock.taken = 0;
            clock.until.as_mut().reset(moment_after(time));
        }
        clock.until.as_mut().poll(cx)
    }
}
