//! What subscribers read.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use switchboard_core::{CallError, Gap, GapReason, Json};
use tokio::sync::OwnedSemaphorePermit;

/// Something that was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopicEvent<T> {
    /// The topic.
    pub topic: String,
    /// Its number among the events that are kept, if this topic is kept. To continue later, subscribe from the next number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// What was published.
    pub value: T,
}

/// Where a subscription to kept topics starts. In JSON a number, or `"new"`, `"all"` or `"last"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// After everything that was published before.
    #[default]
    New,
    /// With the oldest event that is kept.
    All,
    /// With the last event of each topic.
    Last,
    /// With the event at this [position](TopicEvent::position). If it is no longer kept, the first item is a [gap](Gap).
    At(u64),
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Start, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            At(u64),
            Word(String),
        }
        let wrong = || D::Error::custom("expected a position, \"new\", \"all\" or \"last\"");
        match Written::deserialize(deserializer).map_err(|_| wrong())? {
            Written::At(position) => Ok(Start::At(position)),
            Written::Word(word) => match word.as_str() {
                "new" => Ok(Start::New),
                "all" => Ok(Start::All),
                "last" => Ok(Start::Last),
                _ => Err(wrong()),
            },
        }
    }
}

/// An event before its value is read.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) topic: Arc<str>,
    pub(super) position: Option<u64>,
    pub(super) value: Json,
}

/// What a subscriber gets next.
pub(super) type Next = Result<Received, CallError>;

/// The events of a subscription: a stream that ends only with an error. A [gap](CallError::Gap) does not end it.
pub struct Events<T> {
    /// In a mutex that is never locked, so that this can be shared between threads.
    received: Mutex<Pin<Box<dyn Stream<Item = Next> + Send>>>,
    _place: OwnedSemaphorePermit,
    values: PhantomData<fn() -> T>,
}

impl<T> Events<T> {
    pub(super) fn new(
        received: impl Stream<Item = Next> + Send + 'static,
        place: OwnedSemaphorePermit,
    ) -> Events<T> {
        Events { received: Mutex::new(Box::pin(received)), _place: place, values: PhantomData }
    }
}

impl<T: DeserializeOwned + 'static> Stream for Events<T> {
    type Item = Result<TopicEvent<T>, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let received = self.received.get_mut().unwrap_or_else(PoisonError::into_inner);
        received.as_mut().poll_next(cx).map(|next| {
            next.map(|next| {
                let Received { topic, position, value } = next?;
                let value = value.decode().map_err(|error| {
                    tracing::warn!(topic = &*topic, %error, "skipped an event of another type");
                    CallError::Gap(Gap::new(Some(1), GapReason::Invalid))
                })?;
                Ok(TopicEvent { topic: topic.as_ref().to_owned(), position, value })
            })
        })
    }
}

impl<T> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_number_or_a_word() {
        let check = |text: &'static str, expected: Option<Start>| {
            assert_eq!(Json::parse(text).unwrap().decode::<Start>().ok(), expected, "{text}");
        };
        check("7", Some(Start::At(7)));
        check("\"new\"", Some(Start::New));
        check("\"all\"", Some(Start::All));
        check("\"last\"", Some(Start::Last));
        check("\"first\"", None);
        check("-1", None);
        check("null", None);
    }
}
