//! Ending an event stream because the server shuts down or closes the session.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use switchboard_core::Session;
use tokio::time::{Instant, Sleep};

use super::super::timeouts::after;
use crate::server::Shutdown;

/// What has to end now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing.
    Nothing,
    /// Streams, as over duplex connections: most have no end, and calls in flight get the drain time.
    Streams,
    /// Everything: the drain time is nearly over, and the last event has to be sent within it.
    Everything,
}

/// Waits for the signal, then for most of the drain time.
pub(super) enum Stopping {
    Awaited { signal: Pin<Box<dyn Future<Output = ()> + Send>>, drain_time: Duration },
    Draining(Pin<Box<Sleep>>),
}

impl Stopping {
    pub(super) fn new(shutdown: Arc<Shutdown>, session: Session, drain_time: Duration) -> Stopping {
        let signal = Box::pin(async move {
            let (mut stopped, mut closed) = (pin!(shutdown.wait()), pin!(session.closing()));
            poll_fn(|cx| match stopped.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => closed.as_mut().poll(cx).map(drop),
            })
            .await;
        });
        Stopping::Awaited { signal, drain_time }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Due {
        if let Stopping::Awaited { signal, drain_time } = self
            && signal.as_mut().poll(cx).is_ready()
        {
            let end = after(Instant::now(), *drain_time - *drain_time / 8);
            *self = Stopping::Draining(Box::pin(tokio::time::sleep_until(end)));
        }
        match self {
            Stopping::Awaited { .. } => Due::Nothing,
            Stopping::Draining(end) => match end.as_mut().poll(cx) {
                Poll::Ready(()) => Due::Everything,
                Poll::Pending => Due::Streams,
            },
        }
    }
}
