//! What comes in: settled on the spot, admitted or refused, and never waited for.

use std::task::Context;

use bytes::Bytes;

use crate::code::Code;
use crate::codec::{self, Entries, Fault, Incoming, Invalid, Message, Request, elements, members};
use crate::connection::Connection;
use crate::connection::early::Event;
use crate::context::Version;
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::id::Id;
use crate::json::Json;

impl Connection {
    /// Handles one frame. Never waits.
    #[inline]
    pub(super) fn take(&mut self, frame: &Bytes, cx: &mut Context<'_>) {
        let limits = &self.settings.limits;
        let is_short = frame.len() <= limits.frame;
        if frame.len() > limits.longest_frame() {
            return self.refuse_frame(Fault::Frame(limits.frame).into());
        }
        match codec::decode(frame, &self.settings) {
            Ok(Incoming::Single(message)) if is_short => self.take_message(message, cx),
            Ok(Incoming::Batch(entries)) if is_short => self.take_batch(&entries, cx),
            // Too long for calls, but not for answers.
            Ok(Incoming::Single(Message::Response(response))) => self.link.complete(response),
            Ok(Incoming::Batch(entries)) if entries.iter().all(|entry| is_response(&entry)) => {
                self.take_batch(&entries, cx);
            }
            Ok(_) => self.refuse_frame(Fault::Frame(self.settings.limits.frame).into()),
            Err(error) => self.refuse_frame(error),
        }
    }

    /// Answers a frame of which nothing can be used.
    pub(super) fn refuse_frame(&mut self, error: ErrorObject) {
        self.respond(self.settings.profile.versions.unsaid(), &Id::NULL, Err(error));
    }

    #[inline]
    fn take_message(&mut self, message: Message, cx: &mut Context<'_>) {
        match message {
            Message::Request(request) => {
                let answer = match self.settle_on_the_spot(&request) {
                    Some(json) => Some(Ok(json)),
                    None => self.refusal().map(Err),
                };
                if let Some(answer) = answer {
                    if let Some(id) = &request.id {
                        self.respond(request.version, id, answer);
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

    fn take_batch(&mut self, entries: &Entries, cx: &mut Context<'_>) {
        let mut calls = Vec::with_capacity(entries.len());
        let mut cancels = Vec::new();
        for entry in entries.iter() {
            match entry {
                Message::Response(response) => self.link.complete(response),
                // What it cancels may stand in the same batch.
                Message::Request(request) if self.is_cancel(&request) && request.id.is_none() => {
                    cancels.extend(request.params);
                }
                Message::Request(request) => match (self.settle_on_the_spot(&request), request.id) {
                    (None, id) => calls.push(Entry::Call(Request { id, ..request })),
                    (Some(json), Some(id)) => calls.push(Entry::Answer(request.version, id, Ok(json))),
                    (Some(_), None) => {}
                },
                Message::Invalid(Invalid { version, id: Some(id), error }) => {
                    calls.push(Entry::Answer(version, id, Err(error)));
                }
                Message::Invalid(_) => {}
            }
        }
        if !calls.is_empty() {
            self.start_batch(calls);
        }
        for params in cancels {
            self.cancel(Some(&params));
        }
        self.advance(cx);
    }

    fn start_batch(&mut self, calls: Vec<Entry>) {
        let refusal = self.refusal();
        let batch = self.calls.admit_batch(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let (version, id, outcome) = match (call, &refusal) {
                (Entry::Call(request), None) => {
                    self.calls.enqueue(request, batch, index);
                    continue;
                }
                (Entry::Call(request), Some(error)) => (request.version, request.id, Err(error.clone())),
                (Entry::Answer(version, id, outcome), _) => (version, Some(id), outcome),
            };
            self.finish_entry(batch, index, version, id.as_ref(), outcome.as_ref().into());
        }
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

    /// Handles what the protocol itself asks for: cancelling, and the items and the end of streams. Gives the answer, if
    /// it was that; what is an ordinary call is left alone.
    #[inline]
    fn settle_on_the_spot(&mut self, request: &Request) -> Option<Json> {
        let streams = &self.settings.profile.streams;
        let answer = if self.is_cancel(request) {
            self.cancel(request.params.as_ref());
            Json::NULL
        } else if request.method == streams.item && request.id.is_none() {
            self.take_item(request.params.as_ref());
            Json::NULL
        } else if request.method == streams.end && request.id.is_none() {
            self.take_end(request.params.as_ref());
            Json::NULL
        } else if request.method == streams.unsubscribe {
            let found = subscription(request).is_some_and(|id| self.streams.unsubscribe(&id));
            if found { Json::TRUE } else { Json::FALSE }
        } else if request.id.is_none() && self.take_others(request) {
            Json::NULL
        } else if self.streams.len() > 0
            && self.streams.unsubscribe_named(&request.method, || subscription(request))
        {
            Json::TRUE
        } else {
            return None;
        };
        Some(answer)
    }

    fn is_cancel(&self, request: &Request) -> bool {
        request.method == self.settings.profile.cancel.method
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
        if let Some((subscription, event @ Event::Item(..))) = event(params) {
            self.link.deliver(&subscription, event);
        } else if let (Some(subscription), Some(gap)) = (member(params, "subscription"), gap(params)) {
            self.link.deliver(&subscription, Event::Gap(gap));
        }
    }

    fn take_end(&mut self, params: Option<&Json>) {
        let Some(params) = params else { return };
        if let Some(subscription) = member(params, "subscription") {
            self.link.deliver(&subscription, Event::End(gap(params), error(params)));
        }
    }

    /// Takes a notification that is progress, or belongs to a stream that goes by names of its own; false if it is
    /// neither.
    fn take_others(&mut self, request: &Request) -> bool {
        let progress = &self.settings.profile.progress;
        let Some(params) = &request.params else { return false };
        if request.method == progress.method {
            let parts = member(params, progress.member).zip(member(params, "value"));
            return parts.is_some_and(|(token, value)| self.link.progress(&token, value));
        }
        if !self.link.has_named() {
            return false;
        }
        let event = event(params);
        event.is_some_and(|(id, event)| self.link.deliver_named(&request.method, &id, event).is_ok())
    }
}

/// The stream that a notification is about, and what happens to it.
fn event(params: &Json) -> Option<(Json, Event)> {
    let subscription = member(params, "subscription")?;
    let event = match member(params, "result") {
        Some(item) => Event::Item(gap(params), item),
        None => Event::End(gap(params), Some(error(params)?)),
    };
    Some((subscription, event))
}

fn gap(params: &Json) -> Option<Gap> {
    member(params, "gap")?.decode().ok()
}

fn error(params: &Json) -> Option<ErrorObject> {
    member(params, "error").map(|error| codec::read_error(&error))
}

/// The stream that a call is to end.
fn subscription(request: &Request) -> Option<Json> {
    request.params.as_ref().and_then(|params| argument(params, "subscription"))
}

/// An entry of a batch that is to be answered or run.
enum Entry {
    Call(Request),
    Answer(Version, Id, Result<Json, ErrorObject>),
}

fn is_response(message: &Message) -> bool {
    matches!(message, Message::Response(_))
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
