//! Inputs of a session of many inputs other than calls: responses to calls from this side, cancellations, progress.

use std::sync::Arc;

use crate::call::Call;
use crate::code::Code;
use crate::codec::Message;
use crate::context::Context;
use crate::engine::Engine;
use crate::engine::batch::{Batch, Stop};
use crate::engine::exchange::Answer;
use crate::engine::running::Running;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::remote::argument;
use crate::session::{Inputs, RunningGuard};

/// The session of a call, if it has many inputs.
pub(super) fn inputs(cx: &Context) -> Option<&Arc<Inputs>> {
    cx.session().inputs()
}

impl Engine {
    /// Whether a call is for the session itself: it cancels a call, or is about a call of this side.
    pub(super) fn is_for_session(&self, inputs: &Inputs, call: &Call) -> bool {
        call.method == self.settings.profile.cancel.method
            || call.is_notification() && inputs.remote.takes(call)
    }

    /// Handles what is for the session itself. Gives the result, for those who want one.
    pub(super) fn take_for_session(&self, inputs: &Inputs, call: &Call) -> Json {
        let cancel = &self.settings.profile.cancel;
        if call.method == cancel.method {
            if let Some(id) = call.params.as_ref().and_then(|params| argument(params, cancel.member)) {
                call.cx.session().cancel(&Id::from_json(&id));
            }
        } else {
            inputs.remote.take_notification(call);
        }
        Json::NULL
    }
}

impl Engine {
    /// Makes a call that runs one that a message can cancel, in a session of many inputs.
    pub(super) fn register(&self, call: &Call, running: &mut Running) -> Option<RunningGuard> {
        Some(inputs(&call.cx)?.register(call.id()?, running.cancel_flag()))
    }

    /// Why no call is taken now, in a session of many inputs.
    pub(super) fn refusal(&self, cx: &Context) -> Option<ErrorObject> {
        let inputs = inputs(cx)?;
        if cx.session().close_reason().is_some() || inputs.remote.is_closed() {
            return Some(ErrorObject::from_code(Code::SHUTTING_DOWN));
        }
        if !inputs.is_full() {
            return None;
        }
        let limit = self.settings.limits.in_flight;
        let detail = format!("more than {limit} calls are in flight (limits.in_flight)");
        Some(ErrorObject::over_limit("in_flight", detail))
    }
}

impl Batch {
    /// Goes on with the batch, up to an entry that is for the session itself.
    pub(super) fn advance_in_session(&mut self) -> Stop {
        let Some(inputs) = inputs(&self.call().cx).cloned() else { return self.advance(|_| false) };
        let engine = self.engine().clone();
        self.advance(|call| engine.is_for_session(&inputs, call))
    }

    /// Answers a batch when no calls are accepted. Answers to calls of this side, and cancels, are taken all the same: a call that runs
    /// may wait for them.
    pub(super) fn refuse_calls(mut self, error: &ErrorObject) -> Answer {
        for index in self.unstarted() {
            match self.look(index) {
                None => {}
                Some(Err(message)) => {
                    self.mark_early(index);
                    self.settle_other(index, *message);
                }
                Some(Ok(())) => {
                    self.mark_early(index);
                    let is_for_session = inputs(&self.call().cx)
                        .is_some_and(|inputs| self.engine().is_for_session(inputs, self.call()));
                    match is_for_session {
                        true => self.settle_for_session(index),
                        false => self.refuse_call(index, error),
                    }
                }
            }
        }
        self.into_answer()
    }

    /// Handles an entry that asks for no call: an answer to a call of this side, where there are such calls.
    pub(super) fn settle_other(&mut self, index: usize, message: Message) {
        match (inputs(&self.call().cx).cloned(), message) {
            (Some(inputs), Message::Response(response)) => {
                inputs.remote.complete(response);
                self.skip(index);
            }
            (_, message) => self.refuse(index, &message),
        }
    }

    /// Handles the entry at this index, which is for the session itself.
    pub(super) fn settle_for_session(&mut self, index: usize) {
        let call = self.call().clone();
        let Some(inputs) = inputs(&call.cx) else { return self.skip(index) };
        let result = self.engine().take_for_session(inputs, &call);
        self.settle(index, Some(Ok(&result)));
    }
}
