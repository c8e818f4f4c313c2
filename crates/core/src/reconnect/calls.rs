//! What happens to calls when their connection breaks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::call::Call;
use crate::call_error::CallError;
use crate::engine::moment_after;
use crate::error::ErrorObject;
use crate::peer::{Peer, Remote};
use crate::reconnect::PeerHandle;
use crate::reconnect::items::{HeldItems, ResubscribingItems};
use crate::reconnect::loss::Loss;
use crate::reconnect::queue::{Lane, Terms};
use crate::reconnect::shared::{Sending, Sent, Shared};
use crate::reconnect::verdict::{Arrival, Verdict, judge};
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// Starts a call. If it can be sent, it is sent before this returns, so calls keep their order.
pub(super) fn call(handle: &Arc<PeerHandle>, call: &Call) -> ReplyFuture {
    let terms = Terms { lane: Lane::Calls, deadline: call.cx.deadline, is_retry: false };
    let shared = &handle.shared;
    let Some((epoch, peer)) = shared.connection(terms) else {
        return asked(handle, call.clone(), send(shared, &Message::One(call), terms));
    };
    let reply = match Service::call(&peer, call).into_ready() {
        Ok(reply) => reply,
        Err(reply) => return sent(handle, call.clone(), epoch, reply),
    };
    match Loss::of(&reply) {
        None => {
            shared.note_answer(epoch, &reply);
            ReplyFuture::ready(resubscribing(handle, call, epoch, reply))
        }
        // It failed at once, so nothing was sent: it can wait for the next connection.
        Some(Loss::Closed(error) | Loss::Unreachable(error)) => {
            shared.lose(epoch, error);
            asked(handle, call.clone(), send(shared, &Message::One(call), terms))
        }
        Some(Loss::ShuttingDown(_)) => {
            let outcome = Replies::One(ReplyFuture::ready(reply));
            asked(handle, call.clone(), Sending::Now(Sent { epoch, outcome }))
        }
    }
}

/// Waits for the reply to a call that was sent. Usually there is one.
fn sent(handle: &Arc<PeerHandle>, call: Call, epoch: u64, reply: ReplyFuture) -> ReplyFuture {
    let handle = Arc::clone(handle);
    ReplyFuture::pending(async move {
        let reply = reply.await;
        if Loss::of(&reply).is_none() {
            handle.shared.note_answer(epoch, &reply);
            return resubscribing(&handle, &call, epoch, reply);
        }
        asked(&handle, call, Sending::Now(Sent { epoch, outcome: Replies::Arrived(reply) })).await
    })
}

/// Waits for the reply to a call that is sent, and sent again, when there is a connection.
fn asked(handle: &Arc<PeerHandle>, call: Call, sending: Sending<Replies>) -> ReplyFuture {
    let handle = Arc::clone(handle);
    ReplyFuture::pending(async move {
        let (epoch, reply) = ask(&handle, &call, sending, Lane::Calls).await;
        resubscribing(&handle, &call, epoch, reply)
    })
}

/// Sends a batch and waits for the replies. It has the time of the call whose deadline is first.
pub(super) fn batch(
    handle: &Arc<PeerHandle>,
    calls: Vec<Call>,
) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
    let deadline = calls.iter().filter_map(|call| call.cx.deadline).min();
    let terms = Terms { lane: Lane::Calls, deadline, is_retry: false };
    let sending = send(&handle.shared, &Message::Many(calls.iter().collect()), terms);
    let handle = Arc::clone(handle);
    Box::pin(async move {
        let message = Message::Many(calls.iter().collect());
        let outcomes = exchange(&handle, message, sending, terms).await;
        let outcomes = outcomes.into_iter().zip(&calls);
        outcomes.map(|((epoch, reply), call)| resubscribing(&handle, call, epoch, reply)).collect()
    })
}

/// Waits for the reply to a call. Returns the number of the connection that brought it, too.
pub(super) async fn ask(
    handle: &Arc<PeerHandle>,
    call: &Call,
    sending: Sending<Replies>,
    lane: Lane,
) -> (u64, Reply) {
    let terms = Terms { lane, deadline: call.cx.deadline, is_retry: true };
    let mut outcomes = exchange(handle, Message::One(call), sending, terms).await;
    outcomes.pop().unwrap_or_else(|| (0, ErrorObject::from(unanswered()).into()))
}

/// What is sent at once.
pub(super) enum Message<'a> {
    One(&'a Call),
    Many(Vec<&'a Call>),
}

/// The result.
pub(super) enum Replies {
    One(ReplyFuture),
    /// To a call that was sent.
    Arrived(Reply),
    Many(Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>),
}

/// Sends a message, or queues it.
pub(super) fn send(shared: &Arc<Shared>, message: &Message<'_>, terms: Terms) -> Sending<Replies> {
    match message {
        Message::One(call) => {
            let call = Call::clone(call);
            shared.send(terms, move |peer: &Peer| Replies::One(Service::call(peer, &call)))
        }
        Message::Many(calls) => {
            let calls = calls.iter().copied().cloned().collect();
            shared.send(terms, move |peer: &Peer| Replies::Many(Remote::batch(peer, calls)))
        }
    }
}

impl Replies {
    /// The replies, and whether anything was sent for them: not if the connection was found broken at once.
    async fn all(self) -> (Vec<Reply>, bool) {
        match self {
            Replies::One(reply) => match reply.into_ready() {
                Ok(reply) => (vec![reply], false),
                Err(reply) => (vec![reply.await], true),
            },
            Replies::Arrived(reply) => (vec![reply], true),
            Replies::Many(replies) => (replies.await, true),
        }
    }
}

/// Waits for the replies to a message. The calls that were lost and may be sent again form the next message.
async fn exchange(
    handle: &Arc<PeerHandle>,
    message: Message<'_>,
    mut sending: Sending<Replies>,
    terms: Terms,
) -> Vec<(u64, Reply)> {
    let shared = &handle.shared;
    let terms = Terms { is_retry: true, ..terms };
    let (calls, is_batch) = match message {
        Message::One(call) => (vec![call], false),
        Message::Many(calls) => (calls, true),
    };
    // Once a call may have run, no later failure may say that it was not sent: its outcome stays.
    let mut outcomes: Vec<Option<(u64, Reply)>> = calls.iter().map(|_| None).collect();
    let mut places: Vec<usize> = (0..calls.len()).collect();
    // Connections over which nothing reached the server do not prolong the wait.
    let (mut until, mut times_sent) = (None, 0_u32);
    loop {
        let wait = || *until.get_or_insert_with(|| wait_until(shared, terms));
        let Sent { epoch, outcome } = match sending.until(wait).await {
            Ok(sent) => sent,
            Err(error) => return completed(outcomes, error),
        };
        let (replies, was_sent) = outcome.all().await;
        times_sent = times_sent.saturating_add(u32::from(was_sent));
        let can_resend = shared.options.backoff.attempts.is_none_or(|attempts| times_sent < attempts);
        let arrival = Arrival { lane: terms.lane, epoch, was_sent, can_resend };
        let mut again = Vec::new();
        for (place, reply) in places.into_iter().zip(replies) {
            match judge(handle, calls[place], arrival, reply).await {
                Verdict::Answered(reply) => outcomes[place] = Some((epoch, reply)),
                Verdict::Lost { failed, may_have_run, is_resent } => {
                    if is_resent {
                        again.push(place);
                    }
                    if may_have_run {
                        until = None;
                    }
                    if may_have_run || !is_resent && outcomes[place].is_none() {
                        outcomes[place] = Some((epoch, failed));
                    }
                }
            }
        }
        let message = match again.first() {
            None => return completed(outcomes, unanswered()),
            Some(_) if is_batch => Message::Many(again.iter().map(|place| calls[*place]).collect()),
            Some(place) => Message::One(calls[*place]),
        };
        sending = send(shared, &message, terms);
        places = again;
    }
}

/// The outcomes of a message, with this error in the place of those that are missing.
fn completed(outcomes: Vec<Option<(u64, Reply)>>, error: CallError) -> Vec<(u64, Reply)> {
    let error = ErrorObject::from(error);
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| (0, error.clone().into()))).collect()
}

fn unanswered() -> CallError {
    CallError::Protocol("a call in the batch got no response".into())
}

/// The moment until which something waits for a connection that begins to wait now.
pub(super) fn wait_until(shared: &Shared, terms: Terms) -> Instant {
    let until = match terms.lane {
        Lane::Calls => moment_after(shared.options.connect_wait),
        Lane::Streams => moment_after(Duration::MAX),
    };
    terms.deadline.map_or(until, |deadline| deadline.min(until))
}

/// Wraps a stream: it is resubscribed if it may be, since to subscribe again runs the method again.
fn resubscribing(handle: &Arc<PeerHandle>, call: &Call, epoch: u64, reply: Reply) -> Reply {
    reply.map_items(|items| {
        let is_subscription = handle.shared.options.resubscribe && items.subscription().is_some();
        if is_subscription || call.is_repeatable() {
            items.through(|items| ResubscribingItems::new(Arc::clone(handle), call.clone(), epoch, items))
        } else {
            items.through(|items| HeldItems::new(Arc::clone(handle), items))
        }
    })
}
