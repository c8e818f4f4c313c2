//! A service that gets all methods with a prefix.

use std::sync::Arc;

use crate::call::Call;
use crate::describe::{Describe, MethodDescription};
use crate::layer::Layer;
use crate::name::Name;
use crate::reply::ReplyFuture;
use crate::schemas::Schemas;
use crate::service::Service;

/// A service behind a prefix.
#[derive(Clone)]
pub(crate) struct Mount {
    pub(crate) prefix: String,
    /// Takes calls by their full names.
    service: Arc<dyn Service>,
    described: Option<Arc<dyn Describe>>,
}

impl Mount {
    pub(crate) fn new(
        prefix: String,
        service: Arc<dyn Service>,
        described: Option<Arc<dyn Describe>>,
    ) -> Mount {
        let service = WithoutPrefix::around(service, &prefix);
        Mount { prefix, service, described }
    }

    /// The same service behind another prefix and this one.
    pub(crate) fn prefixed(self, outer: &str) -> Mount {
        let service = WithoutPrefix::around(self.service, outer);
        Mount { prefix: format!("{outer}{}", self.prefix), service, ..self }
    }

    pub(crate) fn layered(self, layer: &impl Layer) -> Mount {
        Mount { service: layer.layer(self.service), ..self }
    }

    /// Whether this method is one of the service's. The prefix alone names no method.
    pub(crate) fn has(&self, method: &str) -> bool {
        method.len() > self.prefix.len() && method.starts_with(&self.prefix)
    }

    pub(crate) fn service(&self) -> &dyn Service {
        &*self.service
    }

    /// The methods under their full names, if the service describes them.
    pub(crate) fn describe(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        let methods = self.described.iter().flat_map(|service| service.describe_methods(schemas));
        let prefixed = methods.map(|method| MethodDescription {
            name: format!("{}{}", self.prefix, method.name),
            subscription: method.subscription.map(|names| names.prefixed(&self.prefix)),
            ..method
        });
        prefixed.collect()
    }
}

/// Takes the prefix off the methods of calls, and puts it on the names of subscriptions.
struct WithoutPrefix {
    prefix: Arc<str>,
    inner: Arc<dyn Service>,
}

impl WithoutPrefix {
    fn around(inner: Arc<dyn Service>, prefix: &str) -> Arc<dyn Service> {
        if prefix.is_empty() {
            return inner;
        }
        Arc::new(WithoutPrefix { prefix: prefix.into(), inner })
    }
}

impl Service for WithoutPrefix {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(method) = call.method.as_str().strip_prefix(&*self.prefix) else {
            // A layer gave it another name.
            return self.inner.call(call);
        };
        let mut inside = call.clone();
        inside.method = Name::from(method);
        let prefix = Arc::clone(&self.prefix);
        self.inner.call(&inside).map(move |reply| {
            reply.map_items(|items| match items.subscription() {
                Some(names) => {
                    let names = names.prefixed(&prefix);
                    items.named(names)
                }
                None => items,
            })
        })
    }
}
