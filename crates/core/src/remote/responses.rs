//! Calls from this side, settled by the responses that arrive, or cancelled.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use bytes::Bytes;

use crate::call_error::CallError;
use crate::codec::{self, ResponseObject, ResponseOutcome};
use crate::context::Version;
use crate::engine::Outlet;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::{Json, Kind};
use crate::remote::early_items::EarlyItems;
use crate::remote::{Answer, RemoteShared, RemoteState, Waiter};
use crate::reply::Reply;
use crate::subscription::Subscription;
use crate::text::Text;

impl RemoteShared {
    /// Settles the call that a response answers.
    pub(crate) fn complete(self: &Arc<RemoteShared>, mut response: ResponseObject) {
        let extra = response.take_extra();
        let ResponseObject { id, outcome, .. } = response;
        let Some(Waiter { answer, names, check, .. }) = self.locked(|state| state.pending.complete(&id))
        else {
            return self.complete_unknown(&id, outcome);
        };
        let is_whole = matches!(answer, Answer::Whole(_));
        let mut reply = match (outcome, names) {
            (ResponseOutcome::Stream(subscription, flag), names) if is_whole => {
                self.open(&subscription, Subscription::from_json(&flag).map(Arc::new).or(names), check)
            }
            (ResponseOutcome::Value(subscription), Some(names))
                if is_whole && matches!(subscription.kind(), Kind::String | Kind::Number) =>
            {
                self.open(&subscription, Some(names), check)
            }
            (outcome, _) => reply_of(outcome),
        };
        reply.extra = extra;
        self.forget_expected(&id);
        // A caller that no longer waits drops the stream, which ends it.
        answer.send(reply);
    }

    /// Settles a response that names no call which waits.
    fn complete_unknown(&self, id: &Id, outcome: ResponseOutcome) {
        match outcome {
            ResponseOutcome::Error(error) if id.is_null() => self.complete_without_id(&error),
            // The call was dropped while the answer was on its way.
            ResponseOutcome::Stream(subscription, flag) => {
                self.unsubscribe(&subscription, Subscription::from_json(&flag).as_ref());
            }
            _ => tracing::debug!(id = id.as_str(), "dropped a response that matches no call"),
        }
    }

    fn complete_without_id(&self, error: &ErrorObject) {
        let waiters = self.locked(|state| {
            let waiters = state.pending.complete_only_frame();
            if !waiters.is_empty() {
                // Nothing waits any more.
                state.expected.clear();
                self.settle_expected(state, None);
            }
            waiters
        });
        // The first says what is wrong; who breaks the rules without end must not fill the log with it.
        if waiters.is_empty() && !self.has_misunderstood.swap(true, Ordering::Relaxed) {
            tracing::warn!(code = error.code.0, "the peer did not understand a message");
        }
        for waiter in waiters {
            waiter.answer.send(Reply::error(error.clone()));
        }
    }

    /// The call with this identifier is over, and with it what was kept for its subscription.
    fn forget_expected(&self, id: &Id) {
        if self.has_named.load(Ordering::Acquire) {
            let id = id.as_u64();
            self.locked(|state| self.settle_expected(state, id));
        }
    }

    pub(crate) fn settle_expected(&self, state: &mut RemoteState, id: Option<u64>) {
        state.expected.retain(|(call, _)| Some(*call) != id);
        if state.expected.is_empty() {
            state.early = EarlyItems::default();
            let is_open = state.streams.values().any(|stream| stream.names.is_some());
            self.has_named.store(is_open, Ordering::Release);
        }
    }

    /// Gives up a call that its caller dropped.
    pub(crate) fn give_up(&self, id: u64) {
        let waiter = self.locked(|state| {
            let waiter = state.pending.remove(id);
            self.settle_expected(state, Some(id));
            if let Some(waiter) = &waiter
                && state.closed.is_none()
            {
                self.send_cancel(state, id, waiter.outlet.as_ref());
            }
            waiter
        });
        drop(waiter);
    }

    /// Cancels a call of this side, the way that it was sent.
    pub(crate) fn send_cancel(&self, state: &mut RemoteState, id: u64, outlet: Option<&Weak<Outlet>>) {
        let (cancel, version) = (&self.settings.profile.cancel, self.version());
        let params = match version {
            Version::V2 => format!("{{\"{}\":{id}}}", cancel.member),
            Version::V1 => format!("[{id}]"),
        };
        let params = Json::from_text(Text::from_vec(params.into_bytes()));
        let write =
            |out: &mut Vec<u8>| codec::notification(out, version, &cancel.method, Some(&params), None);
        match outlet.and_then(Weak::upgrade) {
            Some(outlet) if outlet.has_room() == Ok(true) => {
                let mut text = Vec::new();
                write(&mut text);
                outlet.push(Bytes::from(text));
            }
            _ => self.queue(state, write),
        }
    }

    /// Whether a call waits for its answer: not one whose answer comes in parts, which are read like a stream.
    pub(crate) fn has_waiting_call(&self) -> bool {
        self.locked(|state| state.pending.any(|waiter| matches!(waiter.answer, Answer::Whole(_))))
    }
}

fn reply_of(outcome: ResponseOutcome) -> Reply {
    match outcome {
        ResponseOutcome::Value(json) | ResponseOutcome::Stream(json, _) => Reply::value(json),
        ResponseOutcome::Error(error) => Reply::error(error),
        ResponseOutcome::Broken(why) => Reply::error(CallError::Protocol(why.into()).into()),
    }
}
