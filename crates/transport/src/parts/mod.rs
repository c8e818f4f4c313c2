//! Answers in parts, as a client reads them: an event stream over HTTP, or several messages over NATS.
//!
//! A transport implements [`Source`]; the rest, from one value to a stream with gaps, is the same for all.

mod items;
mod notifications;

use std::task::{Context, Poll};

use bytes::Bytes;
use switchboard_core::codec::{ResponseObject, ResponseOutcome};
use switchboard_core::{CallError, Gap, Id, Reply, Subscription};

pub(crate) use self::items::{announced, collect, gather, open, too_large};
pub(crate) use self::notifications::Notifications;

/// The parts of one answer, in order.
pub(crate) trait Source: Send + Unpin + 'static {
    /// The next part that matters to those who wait for responses.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Next, CallError>>;

    /// Reads the end of the answer if it is there, so that what it came over can be used again.
    fn finish(&mut self, cx: &mut Context<'_>);
}

/// What the next part of an answer says.
pub(crate) enum Next {
    /// A stream of items begins, which may be silent for now; and its method names, if it has others than the default ones.
    Started(Option<Subscription>),
    /// A response, and its text.
    Response(ResponseObject, Bytes),
    /// The responses to a batch.
    Batch(Bytes),
    /// Parts were lost on the way.
    Gap(Gap),
    /// The answer is complete.
    Ended,
}

/// Whether a response is an error that answers whatever was sent, because its identifier could not be read (J2-68).
pub(crate) fn is_fault(response: &ResponseObject) -> bool {
    response.id == Id::NULL && matches!(response.outcome, ResponseOutcome::Error(_))
}

/// The reply in a response that is the whole answer to a call.
pub(crate) fn whole(outcome: ResponseOutcome) -> Result<Reply, CallError> {
    match outcome {
        ResponseOutcome::Value(json) => Ok(Reply::value(json)),
        ResponseOutcome::Error(error) => Ok(Reply::error(error)),
        ResponseOutcome::Stream(..) => {
            Err(CallError::Protocol("it starts a stream of another connection".into()))
        }
        ResponseOutcome::Broken(detail) => Err(CallError::Protocol(detail.into())),
    }
}
