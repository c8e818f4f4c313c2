//! What a reply means for a call: it was answered, or lost and perhaps sent again.

use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::call_error::CallError;
use crate::reconnect::loss::{Loss, uncertain};
use crate::reconnect::policy::may_repeat;
use crate::reconnect::queue::Lane;
use crate::reconnect::shared::Shared;
use crate::reconnect::{PeerHandle, reason};
use crate::reply::Reply;

/// How long a server that is shutting down may take to close the connection.
const SHUTDOWN_TIME: Duration = Duration::from_secs(30);

/// How a reply came about.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) lane: Lane,
    /// The number of the connection that the call was sent over.
    pub(super) epoch: u64,
    /// Whether the call reached the connection at all.
    pub(super) was_sent: bool,
    /// Whether the call was not yet sent as often as it may be.
    pub(super) can_resend: bool,
}

/// What follows from a reply.
pub(super) enum Verdict {
    Answered(Reply),
    /// The call was lost. It is sent again, or this is its outcome.
    Lost {
        failed: Reply,
        may_have_run: bool,
        is_resent: bool,
    },
}

/// Decides what becomes of a call after this reply.
pub(super) async fn judge(handle: &Arc<PeerHandle>, call: &Call, arrival: Arrival, reply: Reply) -> Verdict {
    let shared = &handle.shared;
    let Arrival { lane, epoch, was_sent, can_resend } = arrival;
    let Some(loss) = Loss::of(&reply) else {
        shared.note_answer(epoch, &reply);
        return Verdict::Answered(reply);
    };
    let may_repeat = async |error: &CallError| {
        can_resend && (lane == Lane::Streams || may_repeat(handle, call, error).await)
    };
    match loss {
        Loss::Closed(error) if was_sent => {
            shared.lose(epoch, error.clone());
            let is_resent = may_repeat(&error).await;
            Verdict::Lost { failed: uncertain(error), may_have_run: true, is_resent }
        }
        Loss::Closed(error) | Loss::Unreachable(error) => {
            shared.lose(epoch, error.clone());
            let failed = Reply::Error(CallError::Unreachable(reason(error)).into());
            Verdict::Lost { failed, may_have_run: false, is_resent: can_resend }
        }
        Loss::ShuttingDown(error) => {
            let is_resent = may_repeat(&error).await && shared.shut_down(epoch).await;
            Verdict::Lost { failed: reply, may_have_run: true, is_resent }
        }
    }
}

impl Shared {
    /// Waits until a connection to a server that is shutting down is lost. Returns false if that takes too long.
    pub(super) async fn shut_down(&self, epoch: u64) -> bool {
        if self.options.on_demand {
            // The server closes it at any time, or, if every request has its own, never.
            self.lose(epoch, CallError::Closed("the server is shutting down".into()));
            return true;
        }
        tokio::time::timeout(SHUTDOWN_TIME, self.until_lost(epoch)).await.is_ok()
    }
}
