//! Events of received streams, and those that arrived before their stream was known.

use std::collections::VecDeque;

use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::json::Json;
use crate::limits::Limits;
use crate::name::Name;
use crate::remote::receive_buffer::ReceiveBuffer;
use crate::subscription::Subscription;

/// Something that happens to a stream; each with what is missing before it.
pub(crate) enum Event {
    Item(Option<Gap>, Json),
    /// Items are missing, and none follows now.
    Gap(Gap),
    End(Option<Gap>, Option<ErrorObject>),
}

impl Event {
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Event::End(..))
    }

    /// Puts it where it is read; false if the stream has ended with it.
    pub(crate) fn put_into(self, buffer: &ReceiveBuffer) -> bool {
        match self {
            Event::Item(gap, item) => buffer.push(gap, item),
            Event::Gap(gap) => {
                buffer.note_gap(gap);
                true
            }
            Event::End(gap, error) => {
                buffer.end(gap, error);
                false
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Event::Item(_, item) => item.as_bytes().len(),
            Event::Gap(_) | Event::End(..) => 0,
        }
    }
}

/// Events of subscriptions whose answers are still to come. Some servers send them in this order (against ETH-07).
#[derive(Default)]
pub(crate) struct EarlyItems {
    events: VecDeque<(Name, Json, Event)>,
    bytes: usize,
}

impl EarlyItems {
    /// Keeps an event. As many as may wait for one reader are kept for all; what is more is dropped.
    pub(crate) fn keep(&mut self, method: &Name, subscription: &Json, event: Event, limits: &Limits) {
        let bytes = self.bytes + event.size();
        if self.events.len() < limits.items && bytes <= limits.outbox {
            self.bytes = bytes;
            self.events.push_back((method.detached(), subscription.detached(), event));
        } else {
            tracing::debug!(?method, "dropped an item of an unknown subscription");
        }
    }

    /// The events of this subscription.
    pub(crate) fn take(&mut self, subscription: &Json, names: Option<&Subscription>) -> Vec<Event> {
        let Some(names) = names else { return Vec::new() };
        let kept = std::mem::take(&mut self.events);
        let is_its = |(method, id, _): &(Name, Json, Event)| id == subscription && *method == names.item;
        let (its, others): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_its);
        self.events = others.into();
        self.bytes = self.events.iter().map(|(_, _, event)| event.size()).sum();
        its.into_iter().map(|(_, _, event)| event).collect()
    }
}
