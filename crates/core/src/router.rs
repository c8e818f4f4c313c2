//! From a method's name to what answers it: hop ④.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::context::Context;
use crate::describe::{Description, Dialect};
use crate::error::{ErrorObject, IntoError};
use crate::layer::Layer;
use crate::method::{Method, Methods};
use crate::reply::{Reply, ReplyFuture};
use crate::service::{Service, service_fn};

/// Finds the method that a call names. Made by a [`RouterBuilder`], then frozen.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Peer, Router};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder()
///     .method("add", |(a, b): (i64, i64), _| Ok::<_, switchboard_core::ErrorObject>(a + b))
///     .build()?;
/// let sum: i64 = Peer::local(router).call("add", [2, 3]).await?;
/// assert_eq!(sum, 5);
/// # Ok(())
/// # }
/// ```
pub struct Router {
    /// Frozen, and filled with our own names only: nobody can flood it, so a fixed hash will do.
    services: HashMap<Box<[u8]>, Arc<dyn Service>, foldhash::fast::FixedState>,
    fallback: Arc<dyn Service>,
    methods: Vec<Method>,
}

impl Router {
    /// Begins a router.
    pub fn builder() -> RouterBuilder {
        RouterBuilder::default()
    }

    /// All that is known about the methods, with schemas of the 2020-12 draft.
    #[must_use]
    pub fn describe(&self) -> Description {
        self.describe_in(Dialect::default())
    }

    /// All that is known about the methods, with schemas in this dialect.
    #[must_use]
    pub fn describe_in(&self, dialect: Dialect) -> Description {
        Description::of(&self.methods, dialect)
    }
}

impl Service for Router {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.services.get(call.method.as_bytes()).unwrap_or(&self.fallback).call(call)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("methods", &self.methods).finish_non_exhaustive()
    }
}

/// Collects methods. Mistakes are found by [`build`](RouterBuilder::build), when the program starts and not when a
/// call comes.
#[derive(Default)]
#[must_use = "a router is made by `build`"]
pub struct RouterBuilder {
    methods: Vec<Method>,
    extensions: Vec<Method>,
    fallback: Option<Arc<dyn Service>>,
}

/// Why a router cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// Two methods have one name.
    #[error("the method {0:?} is registered twice; give one of them another name or namespace")]
    Duplicate(String),
    /// The specification keeps names that begin with `rpc.` for extensions of the protocol (J2-06).
    #[error(
        "the method {0:?} begins with \"rpc.\", which is kept for extensions of the protocol; rename it, or add it with `extension`"
    )]
    Reserved(String),
    /// A name is empty.
    #[error("a method has an empty name; give it one")]
    Unnamed,
}

impl RouterBuilder {
    /// Adds a group of methods.
    #[expect(
        clippy::should_implement_trait,
        reason = "nobody adds routers with `+`, and no other word is as plain"
    )]
    pub fn add(mut self, methods: impl Methods) -> RouterBuilder {
        self.methods.extend(methods.methods());
        self
    }

    /// Adds a function that answers at once, see [`Method::sync`].
    pub fn method<F, P, T, E>(self, name: impl Into<String>, function: F) -> RouterBuilder
    where
        F: Fn(P, Context) -> Result<T, E> + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: IntoError,
    {
        self.add(Method::sync(name, function))
    }

    /// Adds an asynchronous function, see [`Method::future`].
    pub fn async_method<F, P, R, T, E>(self, name: impl Into<String>, function: F) -> RouterBuilder
    where
        F: Fn(P, Context) -> R + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: IntoError,
    {
        self.add(Method::future(name, function))
    }

    /// Adds a method whose name begins with `rpc.`, for an extension of the protocol.
    pub fn extension(mut self, method: Method) -> RouterBuilder {
        self.extensions.push(method);
        self
    }

    /// Adds everything another builder holds. Its fallback counts if this one has none.
    pub fn merge(mut self, other: RouterBuilder) -> RouterBuilder {
        self.methods.extend(other.methods);
        self.extensions.extend(other.extensions);
        self.fallback = self.fallback.or(other.fallback);
        self
    }

    /// Adds the methods of another builder with `prefix` before their names, as in `admin/` or `eth_`.
    ///
    /// Only its methods: a fallback or an extension has no namespace.
    pub fn namespace(mut self, prefix: &str, other: RouterBuilder) -> RouterBuilder {
        self.methods.extend(other.methods.into_iter().map(|method| method.prefixed(prefix)));
        self
    }

    /// Sets what answers calls of unknown methods, which is otherwise -32601 with the name as `data.method`.
    pub fn fallback(mut self, service: impl Service) -> RouterBuilder {
        self.fallback = Some(Arc::new(service));
        self
    }

    /// Wraps every method added so far. To wrap the router itself, unknown methods included, use the layer on it.
    pub fn layer(mut self, layer: &impl Layer) -> RouterBuilder {
        for method in self.methods.iter_mut().chain(&mut self.extensions) {
            method.service = layer.layer(Arc::clone(&method.service));
        }
        self
    }

    /// All that is known about the methods added so far, with schemas in this dialect.
    #[must_use]
    pub fn describe_in(&self, dialect: Dialect) -> Description {
        let mut methods: Vec<Method> = self.methods.iter().chain(&self.extensions).cloned().collect();
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        Description::of(&methods, dialect)
    }

    /// Freezes the router.
    ///
    /// # Errors
    ///
    /// When a name is given twice, is empty, or is kept for extensions.
    pub fn build(self) -> Result<Router, RouterError> {
        let mut services = HashMap::with_hasher(foldhash::fast::FixedState::default());
        for method in &self.methods {
            if method.name.starts_with("rpc.") {
                return Err(RouterError::Reserved(method.name.clone()));
            }
        }
        let mut methods = self.methods;
        methods.extend(self.extensions);
        for method in &methods {
            if method.name.is_empty() {
                return Err(RouterError::Unnamed);
            }
            let key = method.name.as_bytes().into();
            if services.insert(key, spelled(method)).is_some() {
                return Err(RouterError::Duplicate(method.name.clone()));
            }
        }
        for names in methods.iter().filter_map(|method| method.subscription.as_ref()) {
            let key = names.unsubscribe.as_bytes().into();
            services.entry(key).or_insert_with(|| Arc::new(names.unknown()));
        }
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        let fallback = self.fallback.unwrap_or_else(|| Arc::new(service_fn(unknown)));
        Ok(Router { services, fallback, methods })
    }
}

fn unknown(call: &Call) -> ReplyFuture {
    ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()))
}

/// What answers a method, with the names of its subscription on its streams.
fn spelled(method: &Method) -> Arc<dyn Service> {
    let service = Arc::clone(&method.service);
    let Some(names) = method.subscription.clone().map(Arc::new) else { return service };
    Arc::new(service_fn(move |call| {
        let names = Arc::clone(&names);
        service.call(call).map(move |reply| match reply {
            Reply::Stream(items) => Reply::Stream(items.named(names)),
            other => other,
        })
    }))
}

impl fmt::Debug for RouterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterBuilder").field("methods", &self.methods).finish_non_exhaustive()
    }
}
