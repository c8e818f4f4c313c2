//! How a connection comes to its end.

use std::task::{Context, Poll};

use super::{Connection, ConnectionError, Phase};
use crate::call_error::CallError;
use crate::code::Code;
use crate::error::ErrorObject;

impl Connection {
    /// The peer sends nothing more: it cannot answer our calls, but may still wait for answers to its own.
    pub(super) fn peer_ended(&mut self, reason: &str) {
        self.remote.close(&CallError::Closed(reason.to_owned().into()));
        if !self.finishes_streams {
            self.streams.drop_all();
        }
        self.begin_draining(true);
    }

    /// Ends the streams that are open, and tells their readers.
    pub(super) fn end_streams(&mut self) {
        let error = ErrorObject::from_code(Code::SHUTTING_DOWN);
        self.streams.end_all(&error, &self.settings.profile.streams, &mut *self.sink);
    }

    pub(super) fn begin_draining(&mut self, has_ended: bool) {
        match &mut self.phase {
            Phase::Open | Phase::Opening(_) => {
                // Nothing is read of a connection that was not admitted yet.
                let has_ended = has_ended || matches!(self.phase, Phase::Opening(_));
                let until = Box::pin(tokio::time::sleep(self.settings.limits.drain_time));
                self.phase = Phase::Draining { has_ended, until };
            }
            Phase::Draining { has_ended: ended, .. } => *ended |= has_ended,
            Phase::Closing { .. } => {}
        }
    }

    /// Goes on towards the end, if it is near; ready when the connection is closed.
    pub(super) fn poll_phase(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        if self.remote.is_draining() && matches!(self.phase, Phase::Open | Phase::Opening(_)) {
            self.begin_draining(false);
            self.end_streams();
            // What was just queued goes out in the next step.
            cx.waker().wake_by_ref();
        }
        if let Phase::Draining { until, .. } = &mut self.phase {
            let is_over = until.as_mut().poll(cx).is_ready();
            // A side that closes by itself ends its streams; only a peer that sends nothing more may read them to their end.
            let goes_on = self.finishes_streams && !self.remote.is_draining() && self.streams.len() > 0;
            let is_done = self.calls.is_idle() && !goes_on;
            if !is_over && !is_done {
                return Poll::Pending;
            }
            // In this order: a batch that is given up may open streams.
            self.give_up_calls();
            self.end_streams();
            self.send_queued();
            let until = Box::pin(tokio::time::sleep(self.settings.limits.drain_time));
            self.phase = Phase::Closing { until };
        }
        let Phase::Closing { until } = &mut self.phase else { return Poll::Pending };
        if let Poll::Ready(closed) = self.sink.poll_close(cx) {
            return Poll::Ready(self.fault.take().map_or(closed, Err));
        }
        let (queued, limit) = (self.sink.queued(), self.settings.limits.outbox);
        until.as_mut().poll(cx).map(|()| Err(ConnectionError::SlowReader { queued, limit }))
    }
}
