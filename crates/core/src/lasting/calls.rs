//! What becomes of calls when the connection they went over breaks.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::call_error::CallError;
use crate::code::Code;
use crate::error::ErrorObject;
use crate::lasting::Kept;
use crate::lasting::items::Returning;
use crate::lasting::line::Place;
use crate::lasting::shared::{Attempt, Many, One, Sending};
use crate::reply::{Reply, ReplyFuture};

/// How long a far side that says it shuts down may take to close the connection.
pub(super) const FAREWELL: Duration = Duration::from_secs(30);

/// How often a call is sent, and how long it waits for a connection.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) is_repeatable: bool,
    pub(super) patience: Duration,
    pub(super) place: Place,
}

/// Starts a call. What can be sent is sent before this returns, so calls keep their order.
pub(super) fn call(kept: &Arc<Kept>, call: Call) -> ReplyFuture {
    let patience = kept.shared.options.patience;
    let manner = Manner { is_repeatable: call.is_repeatable(), patience, place: Place::Call };
    let mut sending = kept.shared.send(One(call.clone()), Place::Call);
    if let Sending::Now(Attempt { epoch, sent }) = sending {
        match sent.into_ready() {
            Ok(reply) if !is_lost(&reply) => return ReplyFuture::ready(returning(kept, call, epoch, reply)),
            // A reply that is there at once and says so: nothing was sent over that connection, so it can wait.
            Ok(_) => {
                kept.shared.lose(epoch);
                sending = kept.shared.send(One(call.clone()), Place::Call);
            }
            Err(sent) => sending = Sending::Now(Attempt { epoch, sent }),
        }
    }
    let kept = Arc::clone(kept);
    ReplyFuture::pending(async move {
        let (epoch, reply) = ask(&kept, &call, sending, manner).await;
        returning(&kept, call, epoch, reply)
    })
}

/// Waits for the reply to a call, which is sent again where that may be. Gives the number of the connection it came over.
pub(super) async fn ask(kept: &Kept, call: &Call, mut sending: Sending<One>, manner: Manner) -> (u64, Reply) {
    // What became of it when it was last sent. Once it was sent, no failure may say that it was not.
    let mut before = None;
    loop {
        let Attempt { epoch, sent } = match sending.within(manner.patience).await {
            Ok(attempt) => attempt,
            Err(error) => return before.unwrap_or_else(|| (0, Reply::Error(error.into()))),
        };
        let (reply, was_sent) = match sent.into_ready() {
            Ok(reply) => (reply, false),
            Err(sent) => (sent.await, true),
        };
        if is_lost(&reply) {
            kept.shared.lose(epoch);
            if was_sent && !manner.is_repeatable {
                return (epoch, uncertain(reply));
            }
        } else if is_farewell(&reply) && manner.is_repeatable {
            let patience = FAREWELL.min(manner.patience);
            if tokio::time::timeout(patience, kept.shared.until_lost(epoch)).await.is_err() {
                return (epoch, reply);
            }
        } else {
            return (epoch, reply);
        }
        if was_sent {
            before = Some((epoch, uncertain(reply)));
        }
        sending = kept.shared.send(One(call.clone()), manner.place);
    }
}

/// Waits for the replies to a batch. What may be sent again and was cut off goes out as another batch.
pub(super) async fn batch(kept: &Arc<Kept>, calls: &[Call], mut sending: Sending<Many>) -> Vec<Reply> {
    let mut replies: Vec<Option<Reply>> = calls.iter().map(|_| None).collect();
    let mut places: Vec<usize> = (0..calls.len()).collect();
    while !places.is_empty() {
        let Attempt { epoch, sent } = match sending.within(kept.shared.options.patience).await {
            Ok(attempt) => attempt,
            Err(error) => {
                let error = ErrorObject::from(error);
                return replies.into_iter().map(|reply| reply.unwrap_or(error.clone().into())).collect();
            }
        };
        let mut again = Vec::new();
        for (place, reply) in places.into_iter().zip(sent.await) {
            let call = &calls[place];
            if is_lost(&reply) {
                kept.shared.lose(epoch);
                if call.is_repeatable() {
                    again.push(place);
                }
                replies[place] = Some(uncertain(reply));
            } else {
                replies[place] = Some(returning(kept, call.clone(), epoch, reply));
            }
        }
        let parcel = Many(again.iter().map(|place| calls[*place].clone()).collect());
        places = again;
        if places.is_empty() {
            break;
        }
        sending = kept.shared.send(parcel, Place::Call);
    }
    let missing = || CallError::Protocol("a call of the batch was not answered".into());
    replies.into_iter().map(|reply| reply.unwrap_or_else(|| ErrorObject::from(missing()).into())).collect()
}

/// A stream that comes back, if this is a stream and it may: to ask again runs its method again.
fn returning(kept: &Arc<Kept>, call: Call, epoch: u64, reply: Reply) -> Reply {
    let Reply::Stream(items) = reply else { return reply };
    let is_subscription = kept.shared.options.resubscribe && items.subscription().is_some();
    Reply::Stream(if is_subscription || call.is_repeatable() {
        items.through(|items| Returning::new(Arc::clone(kept), call, epoch, items))
    } else {
        items.through(|items| super::items::Holding::new(Arc::clone(kept), items))
    })
}

fn is_lost(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if is_cut_off(error))
}

fn is_farewell(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if error.code == Code::SHUTTING_DOWN)
}

/// Whether the connection ended on this side of the far side's answer.
pub(super) fn is_cut_off(error: &ErrorObject) -> bool {
    matches!(error.local.as_deref(), Some(CallError::Closed(_)))
}

/// The reply to a call that was cut off, with what that means for it.
fn uncertain(reply: Reply) -> Reply {
    const WARNING: &str = "the call may or may not have run";
    let Reply::Error(error) = reply else { return reply };
    match CallError::from(error) {
        CallError::Closed(reason) if !reason.ends_with(WARNING) => {
            let reason: Cow<'static, str> = format!("{reason}; {WARNING}").into();
            Reply::Error(CallError::Closed(reason).into())
        }
        other => Reply::Error(other.into()),
    }
}
