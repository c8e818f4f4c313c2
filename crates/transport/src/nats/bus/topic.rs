//! A topic, to publish and to subscribe to.

use std::fmt;
use std::sync::Arc;

use async_nats::Subject;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_core::{CallError, ErrorObject, Json, Method};

use super::Bus;
use super::event::{Events, Start};
use super::keep::Kept;
use super::methods;
use super::publisher::Publisher;

/// A topic. Cheap to clone.
///
/// It counts what it publishes, so that subscribers notice what they missed. Keep it for as long as you publish: another value for the same topic is another publisher.
#[derive(Clone)]
pub struct Topic {
    source: Source,
    publisher: Arc<Publisher>,
}

/// Why there is no such topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The name does not fit into a subject.
    #[error("a topic name of {length} bytes is too long for a NATS subject")]
    TooLong {
        /// How long it is.
        length: usize,
    },
    /// It does not belong to this group.
    #[error("the topic {topic:?} is not below {group:?}; its name must begin with {group:?} and a slash")]
    Outside {
        /// The topic.
        topic: String,
        /// The name of the group.
        group: String,
    },
}

impl From<TopicError> for CallError {
    fn from(error: TopicError) -> CallError {
        CallError::Rejected(ErrorObject::invalid_params(error.to_string()))
    }
}

impl Topic {
    pub(super) fn new(bus: Bus, name: String, kept: Option<Arc<Kept>>) -> Result<Topic, TopicError> {
        let subjects = bus.subject(&name)?;
        let source = Source { bus, name: name.into(), subjects, kept };
        Ok(Topic { source, publisher: Arc::new(Publisher::new()) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }

    pub(super) fn into_source(self) -> Source {
        self.source
    }

    /// Publishes a value to all who subscribe now. If the topic is kept, this waits until the broker has stored the value, and returns its
    /// position. If not, the value may be lost on its way, and there may be no subscribers.
    ///
    /// # Errors
    ///
    /// If there is no connection, the value is larger than the broker allows, or this client may not publish there. If a value that is to be kept
    /// was not acknowledged in time, it may have been stored. It was sent again with the same identifier, so it was not stored twice.
    pub async fn publish<T: Serialize + 'static>(&self, value: &T) -> Result<Option<u64>, CallError> {
        let value = Json::encode(value).map_err(|error| CallError::Params(error.to_string().into()))?;
        let payload = Bytes::copy_from_slice(value.as_bytes());
        let Source { bus, subjects, kept, .. } = &self.source;
        let link = &bus.0.link;
        match kept {
            Some(kept) => self.publisher.keep(link, subjects, payload, kept.stream()).await.map(Some),
            None => self.publisher.publish(link, subjects, payload).await.map(|()| None),
        }
    }

    /// Subscribes to what is published from now on. Everything that is published after this has returned arrives, or is reported as a gap.
    ///
    /// # Errors
    ///
    /// If there is no connection, this client may not subscribe, or there are too many subscribers.
    pub async fn subscribe<T: DeserializeOwned + 'static>(&self) -> Result<Events<T>, CallError> {
        self.source.subscribe(Start::New).await
    }

    /// Subscribes from an earlier position, if the topic is kept.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Topic::subscribe), and if the topic is not kept.
    pub async fn subscribe_from<T: DeserializeOwned + 'static>(
        &self,
        start: Start,
    ) -> Result<Events<T>, CallError> {
        self.source.subscribe(start).await
    }

    /// A method whose callers subscribe to this topic, over any transport. Its parameter `from` says [where to start](Start).
    pub fn method(&self, name: impl Into<String>) -> Method {
        methods::subscribing(name.into(), self.source.clone())
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Topic").field(&self.source.name).finish()
    }
}

/// Where events come from: a topic, or several.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) bus: Bus,
    pub(super) name: Arc<str>,
    pub(super) subjects: Subject,
    pub(super) kept: Option<Arc<Kept>>,
}

impl Source {
    pub(super) async fn subscribe<T>(&self, start: Start) -> Result<Events<T>, CallError> {
        let place = self.bus.place()?;
        match (&self.kept, start) {
            (Some(kept), start) => {
                let replay = kept.replay(self.bus.root(), self.subjects.clone(), start).await?;
                Ok(Events::new(replay.into_stream(), place))
            }
            (None, Start::New) => {
                let reader = self.bus.hub(&self.subjects).join(self.bus.0.options.waiting).await?;
                Ok(Events::new(reader, place))
            }
            (None, _) => {
                let text = format!("{} is not kept, so subscribe from \"new\"", self.name);
                Err(CallError::Rejected(ErrorObject::invalid_params(text)))
            }
        }
    }
}
