//! Ethereum-style subscriptions of one namespace: one method, whose first parameter names the topic.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::call::Call;
use crate::code::Code;
use crate::codec::elements;
use crate::error::ErrorObject;
use crate::json::{Json, Kind};
use crate::method::{Method, Methods};
use crate::reply::ReplyFuture;
use crate::service::Service;
use crate::subscription::Subscription;
use crate::text::Text;

/// The topics of `ns_subscribe` (ETH-01). Each topic is a [`Method`] that returns a stream, and
/// gets the parameters that follow the topic's name.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Method, Router, Topics};
///
/// let heads = Method::stream("newHeads", |(): (), _| futures_util::stream::iter([1, 2, 3]));
/// let router = Router::builder().add(Topics::new("eth").topic(heads)).build()?;
/// # Ok::<(), switchboard_core::RouterError>(())
/// ```
#[must_use = "topics are served once they are added to a router"]
pub struct Topics {
    namespace: String,
    topics: HashMap<String, Arc<dyn Service>>,
}

impl Topics {
    /// A namespace without topics.
    pub fn new(namespace: impl Into<String>) -> Topics {
        Topics { namespace: namespace.into(), topics: HashMap::new() }
    }

    /// Adds a topic, named like the method. It replaces an earlier one of the same name.
    pub fn topic(mut self, method: Method) -> Topics {
        self.topics.insert(method.name, method.service);
        self
    }
}

impl Methods for Topics {
    fn methods(self) -> Vec<Method> {
        let names = Subscription::ethereum(&self.namespace);
        let name = format!("{}_subscribe", self.namespace);
        vec![Method::new(name, Subscribe(self.topics)).subscription(names)]
    }
}

impl fmt::Debug for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topics").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

struct Subscribe(HashMap<String, Arc<dyn Service>>);

impl Service for Subscribe {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some((topic, rest)) = call.params.as_ref().and_then(split) else {
            let detail = "the first parameter must name what to subscribe to";
            return ReplyFuture::ready(ErrorObject::invalid_params(detail));
        };
        match self.0.get(&topic) {
            Some(service) => {
                let mut call = call.clone();
                call.params = rest;
                service.call(&call)
            }
            None => ReplyFuture::ready(ErrorObject::new(Code::METHOD_NOT_FOUND, "no such subscription")),
        }
    }
}

/// The first of the params, which must be a string, and the others.
fn split(params: &Json) -> Option<(String, Option<Json>)> {
    let mut all = elements(params.as_bytes()).map(|element| params.sub(element));
    let topic = all.next().filter(|topic| topic.kind() == Kind::String)?.decode().ok()?;
    let rest: Vec<Json> = all.collect();
    let rest = (!rest.is_empty()).then(|| {
        let joined = rest.iter().map(Json::as_str).collect::<Vec<_>>().join(",");
        Json::from_text(Text::from_vec(format!("[{joined}]").into_bytes()))
    });
    Some((topic, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;
    use crate::router::Router;
    use futures_util::StreamExt;

    #[tokio::test]
    async fn a_topic_gets_the_parameters_after_its_name() {
        // ETH-01
        let count = Method::stream("count", |(to,): (u32,), _| futures_util::stream::iter(0..to));
        let none = Method::stream("none", |(): (), _| futures_util::stream::empty::<u32>());
        let router = Router::builder().add(Topics::new("my").topic(count).topic(none)).build().unwrap();
        let peer = Peer::local(router);
        let items = peer.stream::<u32>("my_subscribe", ("count", 2)).await.unwrap();
        assert_eq!(items.collect::<Vec<_>>().await, [Ok(0), Ok(1)]);
        assert_eq!(peer.stream::<u32>("my_subscribe", ["none"]).await.unwrap().count().await, 0);
        let code = async |params: Json| {
            let refused = peer.stream::<u32>("my_subscribe", params).await.unwrap_err();
            refused.rejection().unwrap().code
        };
        assert_eq!(code(Json::parse(r#"["other"]"#).unwrap()).await, Code::METHOD_NOT_FOUND);
        assert_eq!(code(Json::parse("[]").unwrap()).await, Code::INVALID_PARAMS);
        assert_eq!(code(Json::parse("[1]").unwrap()).await, Code::INVALID_PARAMS);
    }
}
