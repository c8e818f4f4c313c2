//! All topics below a name.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use switchboard_core::{CallError, Method};

use super::Bus;
use super::event::{Events, Start};
use super::keep::Kept;
use super::methods;
use super::topic::{Source, Topic, TopicError};

/// All topics below a name: of `rooms`, for example `rooms/kitchen` and `rooms/upstairs/bath`. Cheap to clone.
#[derive(Clone)]
pub struct TopicGroup(Source);

impl TopicGroup {
    pub(super) fn new(bus: Bus, name: String, kept: Option<Arc<Kept>>) -> Result<TopicGroup, TopicError> {
        let subjects = bus.pattern(&name)?;
        Ok(TopicGroup(Source { bus, name: name.into(), subjects, kept }))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// One of its topics, by its full name.
    ///
    /// # Errors
    ///
    /// If it is not below the name of this group, or the name is too long for a subject.
    pub fn topic(&self, name: impl Into<String>) -> Result<Topic, TopicError> {
        let (topic, group) = (name.into(), &*self.0.name);
        let is_below =
            group.is_empty() || topic.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'));
        if !is_below {
            return Err(TopicError::Outside { topic, group: group.to_owned() });
        }
        Topic::new(self.0.bus.clone(), topic, self.0.kept.clone())
    }

    /// Subscribes to what is published in any of them from now on, as [`Topic::subscribe`].
    ///
    /// # Errors
    ///
    /// As [`Topic::subscribe`].
    pub async fn subscribe<T: DeserializeOwned + 'static>(&self) -> Result<Events<T>, CallError> {
        self.0.subscribe(Start::New).await
    }

    /// Subscribes from an earlier position, if they are kept.
    ///
    /// # Errors
    ///
    /// As [`Topic::subscribe_from`].
    pub async fn subscribe_from<T: DeserializeOwned + 'static>(
        &self,
        start: Start,
    ) -> Result<Events<T>, CallError> {
        self.0.subscribe(start).await
    }

    /// A method whose callers subscribe to all of them, over any transport. Its parameter `from` says [where to start](Start).
    pub fn method(&self, name: impl Into<String>) -> Method {
        methods::subscribing(name.into(), self.0.clone())
    }

    /// Two methods for callers that choose topics themselves, over any transport: `NAMESPACE/publish` with a `topic` and a `value`, and `NAMESPACE/subscribe` with a
    /// `topic` and `from`; without a topic, to all. Callers reach the topics of this group and no others.
    #[must_use]
    pub fn methods(&self, namespace: &str) -> Vec<Method> {
        vec![
            methods::publish(format!("{namespace}/publish"), self.clone()),
            methods::subscribe(format!("{namespace}/subscribe"), self.clone()),
        ]
    }

    pub(super) fn source(&self) -> &Source {
        &self.0
    }

    /// Where the events of one of them come from.
    pub(super) fn source_of(&self, topic: String) -> Result<Source, TopicError> {
        self.topic(topic).map(Topic::into_source)
    }
}

impl fmt::Debug for TopicGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TopicGroup").field(&self.0.name).finish()
    }
}
