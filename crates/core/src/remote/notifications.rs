//! Notifications about calls and streams from this side: items, ends, progress.

use crate::call::{Call, Members, ReceivedItem};
use crate::codec::{self, elements, members};
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::json::Json;
use crate::remote::RemoteShared;
use crate::remote::early_items::Event;

impl RemoteShared {
    /// Whether a notification is about a stream or a call of this side, and not for the service.
    pub(crate) fn takes(&self, call: &Call) -> bool {
        let (streams, progress) = (&self.settings.profile.streams, &self.settings.profile.progress);
        if call.method == streams.item || call.method == streams.end {
            return true;
        }
        let Some(params) = &call.params else { return false };
        if call.method == progress.method {
            let token = member(params, progress.member).filter(|_| member(params, "value").is_some());
            return token.is_some_and(|token| self.wants_progress(&token));
        }
        self.has_named() && event(params).is_some_and(|(id, _)| self.is_named(&call.method, &id))
    }

    /// Passes it on to its reader.
    pub(crate) fn take_notification(&self, call: &Call) {
        let (streams, progress) = (&self.settings.profile.streams, &self.settings.profile.progress);
        let Some(params) = &call.params else { return };
        if call.method != progress.method && !self.is_accepted_call(call, params) {
            return;
        }
        if call.method == streams.item {
            self.take_item(params);
        } else if call.method == streams.end {
            if let Some(subscription) = member(params, "subscription") {
                self.deliver(&subscription, Event::End(gap(params), error(params)));
            }
        } else if call.method == progress.method {
            if let (Some(token), Some(value)) = (member(params, progress.member), member(params, "value")) {
                self.progress(&token, value);
            }
        } else if let Some((id, event)) = event(params) {
            let _ = self.deliver_named(&call.method, &id, event);
        }
    }

    /// Whether a message of a stream is what its reader accepts. If not, the stream has ended with an error.
    fn is_accepted_call(&self, call: &Call, params: &Json) -> bool {
        let Some(subscription) = member(params, "subscription") else { return true };
        let members = call.cx.get::<Members>().map(|members| &members.0);
        let is_end = call.method == self.settings.profile.streams.end;
        let item = ReceivedItem { method: call.method.as_str(), content: params, members, is_end };
        self.is_accepted(&subscription, &item)
    }

    fn take_item(&self, params: &Json) {
        if let Some((subscription, event @ Event::Item(..))) = event(params) {
            self.deliver(&subscription, event);
        } else if let (Some(subscription), Some(gap)) = (member(params, "subscription"), gap(params)) {
            self.deliver(&subscription, Event::Gap(gap));
        }
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
pub(crate) fn subscription(call: &Call) -> Option<Json> {
    call.params.as_ref().and_then(|params| argument(params, "subscription"))
}

/// A member of an object, or the only element of an array.
pub(crate) fn argument(params: &Json, name: &str) -> Option<Json> {
    let element = elements(params.as_bytes()).next().map(|value| params.sub(value));
    element.or_else(|| member(params, name))
}

fn member(params: &Json, name: &str) -> Option<Json> {
    let mut members = members(params.as_bytes());
    members.find(|(found, _)| &**found == name.as_bytes()).map(|(_, value)| params.sub(value))
}
