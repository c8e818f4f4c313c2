//! Received streams: opened, fed and ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::call::{ItemCheck, ReceivedItem};
use crate::call_error::CallError;
use crate::codec;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;
use crate::remote::early_items::Event;
use crate::remote::receive_buffer::receive_buffer;
use crate::remote::{Receiving, RemoteShared, RemoteState};
use crate::reply::{Items, Reply};
use crate::subscription::Subscription;

impl RemoteShared {
    pub(crate) fn open(
        self: &Arc<RemoteShared>,
        subscription: &Json,
        names: Option<Arc<Subscription>>,
        check: Option<ItemCheck>,
    ) -> Reply {
        let remote = Arc::clone(self);
        let (of, spelled) = (subscription.detached(), names.clone());
        let on_drop = move || remote.unsubscribe(&of, spelled.as_deref());
        let (buffer, reader) = receive_buffer(&self.settings.limits, &self.backpressure, on_drop);
        let refused = self.locked(|state| {
            if let Some(reason) = &state.closed {
                buffer.end(None, Some(reason.clone().into()));
            } else if state.streams.contains_key(subscription) {
                return Some(CallError::Protocol("a stream with this identifier is already open".into()));
            } else if state.streams.len() >= self.settings.limits.subscriptions {
                self.queue_unsubscribe(state, subscription, names.as_deref());
                return Some(CallError::Busy("too many streams are open (limits.subscriptions)".into()));
            } else {
                let names = names.clone();
                self.has_named.fetch_or(names.is_some(), Ordering::AcqRel);
                self.has_checks.fetch_or(check.is_some(), Ordering::AcqRel);
                let early = state.early.take(subscription, names.as_deref());
                state.streams.insert(subscription.detached(), Receiving { buffer, names, check });
                for event in early {
                    self.pass_on(state, subscription, event);
                }
            }
            None
        });
        match refused {
            None => {
                let items = Items::new(reader);
                Reply::items(match names {
                    Some(names) => items.named(names),
                    None => items,
                })
            }
            // The reader goes without a word: what is open under this identifier is not its stream.
            Some(error @ CallError::Protocol(_)) => {
                reader.forget();
                Reply::error(error.into())
            }
            Some(error) => Reply::error(error.into()),
        }
    }

    /// Ends a stream with an error if one of its messages is not what its reader accepts; false if so.
    pub(crate) fn is_accepted(&self, subscription: &Json, item: &ReceivedItem<'_>) -> bool {
        if !self.has_checks.load(Ordering::Acquire) {
            return true;
        }
        let check = self.locked(|state| state.streams.get(subscription)?.check.clone());
        let Some(Err(error)) = check.map(|check| check.check(item)) else { return true };
        let names = self.locked(|state| state.streams.get(subscription)?.names.clone());
        self.deliver(subscription, Event::End(None, Some(error)));
        self.unsubscribe(subscription, names.as_deref());
        false
    }

    /// Passes an event of a stream with our own names to its reader.
    pub(crate) fn deliver(&self, subscription: &Json, event: Event) {
        self.locked(|state| self.pass_on(state, subscription, event));
    }

    /// Whether a notification with this method belongs to a stream with other names than ours, or may once its response arrives.
    pub(crate) fn is_named(&self, method: &Name, subscription: &Json) -> bool {
        let is_its_name = |names: &Arc<Subscription>| names.item == *method;
        self.locked(|state| {
            state.streams.get(subscription).is_some_and(|to| to.names.as_ref().is_some_and(is_its_name))
                || state.expected.iter().any(|(_, names)| is_its_name(names))
                || state.streams.values().any(|to| to.names.as_ref().is_some_and(is_its_name))
        })
    }

    /// Passes an event of a stream with other names than ours to its reader; gives it back if this is not
    /// the name of its notifications.
    pub(crate) fn deliver_named(
        &self,
        method: &Name,
        subscription: &Json,
        event: Event,
    ) -> Result<(), Event> {
        let is_its_name = |names: &Arc<Subscription>| names.item == *method;
        self.locked(|state| {
            if state.streams.get(subscription).is_some_and(|to| to.names.as_ref().is_some_and(is_its_name)) {
                self.pass_on(state, subscription, event);
            } else if state.expected.iter().any(|(_, names)| is_its_name(names)) {
                state.early.keep(method, subscription, event, &self.settings.limits);
            } else if !state.streams.values().any(|to| to.names.as_ref().is_some_and(is_its_name)) {
                return Err(event);
            }
            Ok(())
        })
    }

    /// Whether a notification may belong to a stream with other names than ours.
    #[inline]
    pub(crate) fn has_named(&self) -> bool {
        self.has_named.load(Ordering::Acquire)
    }

    fn pass_on(&self, state: &mut RemoteState, subscription: &Json, event: Event) {
        let Some(stream) = state.streams.get(subscription) else { return };
        let (is_end, goes_on) = (event.is_end(), event.put_into(&stream.buffer));
        if goes_on {
            return;
        }
        let names = state.streams.remove(subscription).and_then(|stream| stream.names);
        if !is_end {
            // It was read too slowly.
            self.queue_unsubscribe(state, subscription, names.as_deref());
        }
    }

    /// Tells the peer that a stream is not read any more.
    pub(crate) fn unsubscribe(&self, subscription: &Json, names: Option<&Subscription>) {
        self.locked(|state| {
            state.streams.remove(subscription);
            self.queue_unsubscribe(state, subscription, names);
        });
    }

    fn queue_unsubscribe(&self, state: &mut RemoteState, subscription: &Json, names: Option<&Subscription>) {
        if state.closed.is_some() {
            return;
        }
        let params = Json::encode_ref(&[subscription]).expect("a JSON text can be written");
        let (params, version) = (Some(&params), self.version());
        match names {
            None => {
                let method = &self.settings.profile.streams.unsubscribe;
                self.queue(state, |out| codec::notification(out, version, method, params, None));
            }
            // Others take no notification for it. Their answer is ignored.
            Some(names) => {
                let id = Id::from(state.pending.skip_id());
                self.queue(state, |out| codec::request(out, version, &id, &names.unsubscribe, params, None));
            }
        }
    }
}
