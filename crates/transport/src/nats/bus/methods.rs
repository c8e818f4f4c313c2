//! Topics as methods, for callers over any transport.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use switchboard_core::{
    Arguments, Call, CallError, ErrorObject, Json, Method, MethodDescription, ParamDescription, Reply,
    ReplyFuture, ResultDescription, Service, service_fn,
};

use super::event::Start;
use super::group::TopicGroup;
use super::topic::{Source, Topic};

/// How many topics of callers are remembered.
const REMEMBERED: usize = 1024;

/// A method that subscribes to one source.
pub(super) fn subscribing(name: String, source: Source) -> Method {
    let described = format!("Streams what is published in {}.", source.name);
    let service = service_fn(move |call: &Call| {
        let mut arguments = Arguments::new(call.params.as_ref(), &["from"]);
        let read = arguments.fill().and_then(|()| arguments.optional::<Start>(0));
        match read {
            Ok(start) => events(source.clone(), start.unwrap_or_default()),
            Err(error) => ReplyFuture::ready(error),
        }
    });
    Method::new(name, service).described(move |_| {
        MethodDescription::documented(&described).param(from()).no_more_params().safe().result(streamed())
    })
}

/// A method that subscribes to the topic that its caller names, or to all.
pub(super) fn subscribe(name: String, group: TopicGroup) -> Method {
    let service = service_fn(move |call: &Call| {
        let mut arguments = Arguments::new(call.params.as_ref(), &["topic", "from"]);
        let read = arguments
            .fill()
            .and_then(|()| Ok((arguments.optional::<String>(0)?, arguments.optional::<Start>(1)?)));
        let source = read.and_then(|(topic, start)| {
            let source = match topic {
                Some(topic) => {
                    group.source_of(topic).map_err(|error| ErrorObject::from(CallError::from(error)))?
                }
                None => group.source().clone(),
            };
            Ok((source, start.unwrap_or_default()))
        });
        match source {
            Ok((source, start)) => events(source, start),
            Err(error) => ReplyFuture::ready(error),
        }
    });
    Method::new(name, service).described(|_| {
        let topic = ParamDescription::optional("topic", json!({"type": "string"}))
            .documented("The topic. If it is missing, all topics.");
        MethodDescription::documented("Streams what is published in a topic.")
            .param(topic)
            .param(from())
            .no_more_params()
            .safe()
            .result(streamed())
    })
}

/// A method that publishes in the topic that its caller names.
pub(super) fn publish(name: String, group: TopicGroup) -> Method {
    Method::new(name, Publishing { group, topics: Arc::default() }).described(|_| {
        let value = ParamDescription::required("value", json!({})).documented("What to publish.");
        MethodDescription::documented(
            "Publishes a value in a topic.\n\nReturns its position, if the topic is kept, and null otherwise.",
        )
        .param(ParamDescription::required("topic", json!({"type": "string"})).documented("The topic."))
        .param(value)
        .no_more_params()
        .result(ResultDescription::Value(json!({"type": ["integer", "null"]})))
    })
}

fn events(source: Source, start: Start) -> ReplyFuture {
    ReplyFuture::pending(async move {
        match source.subscribe::<Json>(start).await {
            Ok(events) => Reply::try_stream(events),
            Err(error) => Reply::error(error.into()),
        }
    })
}

fn from() -> ParamDescription {
    let schema = json!({"anyOf": [
        {"type": "integer", "minimum": 0}, {"type": "string", "enum": ["new", "all", "last"]}
    ]});
    ParamDescription::optional("from", schema).documented(
        "Where to start: a position, `new`, `all`, or `last` for the last event of each topic. Others than `new` only if topics are kept.",
    )
}

fn streamed() -> ResultDescription {
    ResultDescription::Stream(json!({
        "type": "object",
        "properties": {
            "topic": {"type": "string"},
            "position": {"type": "integer", "minimum": 1},
            "value": {},
        },
        "required": ["topic", "value"],
    }))
}

struct Publishing {
    group: TopicGroup,
    /// The topics that callers published in lately, because each counts what it publishes.
    topics: Arc<Mutex<HashMap<String, Topic>>>,
}

impl Publishing {
    fn topic(&self, name: String) -> Result<Topic, ErrorObject> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = topics.get(&name) {
            return Ok(topic.clone());
        }
        let topic =
            self.group.topic(name.clone()).map_err(|error| ErrorObject::from(CallError::from(error)))?;
        if topics.len() >= REMEMBERED {
            // They begin again as other publishers.
            topics.clear();
        }
        topics.insert(name, topic.clone());
        Ok(topic)
    }
}

impl Service for Publishing {
    fn call(&self, call: &Call) -> ReplyFuture {
        let mut arguments = Arguments::new(call.params.as_ref(), &["topic", "value"]);
        let read = arguments
            .fill()
            .and_then(|()| Ok((arguments.required::<String>(0)?, arguments.required::<Json>(1)?)));
        let read = read.and_then(|(topic, value)| Ok((self.topic(topic)?, value)));
        match read {
            Ok((topic, value)) => {
                ReplyFuture::pending(async move { Reply::from_result(topic.publish(&value).await) })
            }
            Err(error) => ReplyFuture::ready(error),
        }
    }
}
