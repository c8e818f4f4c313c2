//! What comes in: settled on the spot, admitted or refused, and never waited for.

use std::task::Context;

use bytes::Bytes;

use crate::assembly::Outcome;
use crate::code::Code;
use crate::codec::{self, Incoming, Invalid, Message, Request, elements, members};
use crate::connection::Connection;
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;

impl Connection {
    /// Handles one frame. Never waits.
    #[inline]
    pub(super) fn take(&mut self, frame: &Bytes, cx: &mut Context<'_>) {
        match codec::decode(frame, &self.settings) {
            Ok(Incoming::Single(message)) => self.take_message(message, cx),
            Ok(Incoming::Batch(entries)) => self.take_batch(entries, cx),
            Err(error) => self.respond(self.settings.profile.versions.unsaid(), &Id::NULL, Err(error)),
        }
    }

    #[inline]
    fn take_message(&mut self, message: Message, cx: &mut Context<'_>) {
        match message {
            Message::Request(request) => {
                let Some(request) = self.settle_on_the_spot(request) else { return };
                if let Some(error) = self.refusal() {
                    if let Some(id) = &request.id {
                        self.respond(request.version, id, Err(error));
                    }
                } else if let Some(done) = self.calls.admit(request, cx) {
                    self.finish(done);
                }
            }
            Message::Response(response) => self.link.complete(response),
            Message::Invalid(Invalid { version, id: Some(id), error }) => {
                self.respond(version, &id, Err(error));
            }
            Message::Invalid(_) => {}
        }
    }

    fn take_batch(&mut self, entries: Vec<Message>, cx: &mut Context<'_>) {
        let mut calls = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry {
                Message::Response(response) => self.link.complete(response),
                Message::Request(request) => calls.extend(self.settle_on_the_spot(request).map(Ok)),
                Message::Invalid(invalid) => calls.push(Err(invalid)),
            }
        }
        if calls.is_empty() {
            return;
        }
        if let Some(error) = self.refusal() {
            return self.respond(Version::V2, &Id::NULL, Err(error));
        }
        let batch = self.calls.admit_batch(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            match call {
                Ok(request) => self.calls.enqueue(request, batch, index),
                Err(Invalid { version, id, error }) => {
                    self.finish_entry(batch, index, version, id, Outcome::Error(error));
                }
            }
        }
        self.advance(cx);
    }

    pub(super) fn advance(&mut self, cx: &mut Context<'_>) {
        while let Some(done) = self.calls.advance(cx) {
            self.finish(done);
        }
    }

    /// Why no call is taken now.
    fn refusal(&self) -> Option<ErrorObject> {
        if self.link.is_draining() {
            return Some(ErrorObject::from_code(Code::SHUTTING_DOWN));
        }
        if self.calls.has_place() {
            return None;
        }
        let limit = self.settings.limits.in_flight;
        let detail = format!("more than {limit} calls are under way (limits.in_flight)");
        Some(ErrorObject::over_limit("in_flight", detail))
    }

    /// Handles what the protocol itself asks for: cancelling, and the items and the end of streams.
    #[inline]
    fn settle_on_the_spot(&mut self, request: Request) -> Option<Request> {
        let profile = &self.settings.profile;
        if request.method == profile.cancel.method {
            self.cancel(request.params.as_ref());
        } else if request.method == profile.streams.item && request.id.is_none() {
            self.take_item(request.params.as_ref());
        } else if request.method == profile.streams.end && request.id.is_none() {
            self.take_end(request.params.as_ref());
        } else if request.method == profile.streams.unsubscribe {
            let subscription = request.params.as_ref().and_then(|params| argument(params, "subscription"));
            let found = subscription.is_some_and(|id| self.streams.unsubscribe(&id));
            if let Some(id) = &request.id {
                self.respond(request.version, id, Ok(if found { Json::TRUE } else { Json::FALSE }));
            }
        } else {
            return Some(request);
        }
        None
    }

    fn cancel(&mut self, params: Option<&Json>) {
        let cancel = &self.settings.profile.cancel;
        let Some(id) = params.and_then(|params| argument(params, cancel.member)) else { return };
        let (id, answer) = (Id::from_json(&id), cancel.answer);
        let error = ErrorObject::from_code(answer.unwrap_or(Code::CANCELLED));
        if let Some(mut done) = self.calls.cancel(&id, error) {
            if answer.is_none() {
                done.id = None;
            }
            self.finish(done);
        } else {
            self.streams.cancel(&id);
        }
    }

    fn take_item(&mut self, params: Option<&Json>) {
        let Some(params) = params else { return };
        if let (Some(subscription), Some(item)) = (member(params, "subscription"), member(params, "result")) {
            self.link.deliver(&subscription, item);
        }
    }

    fn take_end(&mut self, params: Option<&Json>) {
        let Some(params) = params else { return };
        let error = member(params, "error").map(|error| codec::read_error(&error));
        if let Some(subscription) = member(params, "subscription") {
            self.link.end(&subscription, error);
        }
    }
}

/// A member of an object, or the only element of an array.
fn argument(params: &Json, name: &str) -> Option<Json> {
    let element = elements(params.as_bytes()).next().map(|value| params.sub(value));
    element.or_else(|| member(params, name))
}

fn member(params: &Json, name: &str) -> Option<Json> {
    let mut members = members(params.as_bytes());
    members.find(|(found, _)| &**found == name.as_bytes()).map(|(_, value)| params.sub(value))
}
