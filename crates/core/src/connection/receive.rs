//! Incoming messages: settled on the spot, admitted or rejected, and never waited for.

use std::task::Context as Poller;

use bytes::Bytes;

use crate::call::Call;
use crate::code::Code;
use crate::codec::{self, Fault, Found, Invalid, Message};
use crate::connection::Connection;
use crate::connection::answers::cancelled;
use crate::engine::Batch;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;
use crate::observer::{InputKind, Position};
use crate::remote::{argument, subscription};

impl Connection {
    /// Handles one frame. Never waits.
    #[inline]
    pub(super) fn take(&mut self, frame: &Bytes, cx: &mut Poller<'_>) {
        let is_short = frame.len() <= self.settings.limits.frame;
        if !is_short {
            return self.take_long(frame, cx);
        }
        match codec::decode_into(frame, &self.settings, &mut self.calls.call) {
            Ok(Found::Call(loaded)) => {
                self.calls.complete(loaded);
                let calls = &self.calls;
                calls.engine.note_received(&calls.call.cx, frame.len(), InputKind::Call, None);
                if self.is_control(&self.calls.call) {
                    self.take_control();
                } else if self.calls.is_clear() && !self.remote.is_draining() {
                    self.start_read(cx);
                } else {
                    self.take_later();
                }
            }
            found => self.take_other(found, frame.len(), cx),
        }
    }

    /// A message that is not a single call.
    #[inline(never)]
    fn take_other(&mut self, found: Result<Found, ErrorObject>, bytes: usize, cx: &mut Poller<'_>) {
        let note =
            |this: &Connection, kind| this.calls.engine.note_received(&this.calls.cx, bytes, kind, None);
        let takes_batches = |this: &Connection| {
            this.settings.profile.batches_if.is_none_or(|takes_batches| takes_batches(&this.session))
        };
        match found {
            Ok(Found::Batch(_)) if !takes_batches(self) => {
                note(self, InputKind::Unreadable);
                self.refuse_frame(&ErrorObject::invalid_request("this session takes no batches"));
            }
            Ok(Found::Batch(entries)) => self.take_batch(entries, bytes, cx),
            Ok(Found::Other(message)) => match *message {
                Message::Response(response) => {
                    note(self, InputKind::Response);
                    self.remote.complete(response);
                }
                Message::Invalid(Invalid { version, id, error }) => {
                    note(self, InputKind::Unreadable);
                    self.calls.engine.note_refused(&self.calls.cx, &error, id.as_ref(), Position::Alone);
                    if let Some(id) = id {
                        self.refuse(version, &id, &error);
                    }
                }
                Message::Request(_) => {}
            },
            Ok(Found::Call(_)) => {}
            Err(error) => {
                note(self, InputKind::Unreadable);
                self.refuse_frame(&error);
            }
        }
    }

    /// A frame that is too long for calls, but may not be for answers.
    #[cold]
    fn take_long(&mut self, frame: &Bytes, cx: &mut Poller<'_>) {
        let limits = &self.settings.limits;
        let found = if frame.len() > limits.longest_frame() {
            Err(Fault::Frame(limits.frame).into())
        } else {
            codec::decode_into(frame, &self.settings, &mut self.calls.call)
        };
        let is_answer = match &found {
            Ok(Found::Other(message)) => is_response(message),
            Ok(Found::Batch(entries)) => entries.iter().all(|entry| is_response(&entry)),
            Ok(Found::Call(_)) | Err(_) => false,
        };
        let found = match found {
            Ok(_) if !is_answer => Err(Fault::Frame(self.settings.limits.frame).into()),
            found => found,
        };
        self.take_other(found, frame.len(), cx);
        self.calls.release_frame();
    }

    /// Answers a frame of which nothing can be used.
    pub(super) fn refuse_frame(&mut self, error: &ErrorObject) {
        self.calls.engine.note_refused(&self.calls.cx, error, Some(&Id::NULL), Position::Alone);
        self.refuse(self.settings.profile.versions.unsaid(), &Id::NULL, error);
    }

    /// Refuses the call that was read last, or has it wait for what is before it.
    #[cold]
    #[inline(never)]
    fn take_later(&mut self) {
        let Some(error) = self.refusal() else { return self.calls.wait() };
        let call = self.calls.call.clone();
        self.calls.engine.note_refused_call(&call, &error, Position::Alone);
        if let Some(id) = call.id() {
            self.refuse(call.cx.version, id, &error);
        }
    }

    /// Handles the call that was read last, which is for the session itself.
    #[cold]
    #[inline(never)]
    fn take_control(&mut self) {
        let call = self.calls.call.clone();
        let answer = self.control(&call, None);
        if let (Some(json), Some(id)) = (answer, call.id()) {
            self.scratch.clear();
            codec::response(&mut self.scratch, call.cx.version, id, Ok(&json));
            self.push_scratch();
        }
    }

    /// Why no call is taken now.
    pub(super) fn refusal(&self) -> Option<ErrorObject> {
        if self.remote.is_draining() {
            return Some(ErrorObject::from_code(Code::SHUTTING_DOWN));
        }
        if self.session.account().is_some_and(|account| account.is_overdrawn()) {
            let detail = "too much is waiting to be sent; read the responses to earlier calls first";
            return Some(ErrorObject::over_limit("buffers", detail));
        }
        if self.calls.has_place() {
            return None;
        }
        let limit = self.settings.limits.in_flight;
        let detail = format!("more than {limit} calls are in flight (limits.in_flight)");
        Some(ErrorObject::over_limit("in_flight", detail))
    }

    /// Whether a call is for the session itself: it cancels something, or belongs to a stream or to a call of this side.
    #[inline]
    pub(super) fn is_control(&self, call: &Call) -> bool {
        let may_be = call.is_notification()
            || self.streams.len() > 0
            || self.calls.engine.control_names().may_have(&call.method);
        may_be && self.is_control_by_name(call)
    }

    #[inline(never)]
    pub(super) fn is_control_by_name(&self, call: &Call) -> bool {
        let profile = &self.settings.profile;
        let is = |name: &Name| call.method == *name;
        if is(&profile.cancel.method) || is(&profile.streams.unsubscribe) {
            return true;
        }
        if !call.is_notification() {
            return self.streams.len() > 0 && self.streams.is_unsubscribe(call);
        }
        self.remote.takes(call) || self.streams.len() > 0 && self.streams.is_unsubscribe(call)
    }

    /// Handles what is for the session itself. Gives the answer, for those who want one.
    pub(super) fn control(&mut self, call: &Call, batch: Option<&mut Batch>) -> Option<Json> {
        let profile = &self.settings.profile;
        let params = call.params.as_ref();
        if call.method == profile.cancel.method {
            self.cancel(params, batch);
            Some(Json::NULL)
        } else if call.method == profile.streams.unsubscribe {
            let found = subscription(call).is_some_and(|id| self.streams.unsubscribe(&id));
            Some(if found { Json::TRUE } else { Json::FALSE })
        } else if self.streams.len() > 0 && self.streams.is_unsubscribe(call) {
            subscription(call).map(|id| self.streams.unsubscribe(&id));
            Some(Json::TRUE)
        } else {
            self.remote.take_notification(call);
            None
        }
    }

    /// Cancels the call that a message names, wherever it is: it runs, waits, or is an entry of the batch that the message
    /// stands in.
    fn cancel(&mut self, params: Option<&Json>, batch: Option<&mut Batch>) {
        let cancel = &self.settings.profile.cancel;
        let Some(id) = params.and_then(|params| argument(params, cancel.member)) else { return };
        let (id, answer) = (Id::from_json(&id), cancel.answer);
        let error = cancelled(answer);
        if self.calls.cancel_running(&id) || self.streams.cancel(&id) {
            return;
        }
        if let Some(call) = self.calls.take_waiting(&id) {
            self.calls.engine.note_refused_call(&call, &error, Position::Alone);
            if answer.is_some() {
                self.refuse(call.cx.version, &id, &error);
            }
        } else if !batch.is_some_and(|batch| batch.cancel_unstarted(&id, &error, answer.is_some()))
            && let Some(key) = self.calls.cancel_entry(&id, &error, answer.is_some())
        {
            self.finish_batch(key);
        }
    }
}

fn is_response(message: &Message) -> bool {
    matches!(message, Message::Response(_))
}
