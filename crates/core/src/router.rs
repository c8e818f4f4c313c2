//! From the name of a method to its service: hop ④.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::context::Context;
use crate::describe::{Describe, Description, MethodDescription};
use crate::error::{ErrorObject, IntoError};
use crate::layer::Layer;
use crate::layered::Layered;
use crate::method::{Method, Methods};
use crate::mount::Mount;
use crate::reply::ReplyFuture;
use crate::schemas::{Dialect, Schemas};
use crate::service::{Service, service_fn};

/// Finds the method for a call. Built by a [`RouterBuilder`], then immutable.
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
    /// Immutable, and filled with our own names only: callers cannot flood it, so a fixed hash will do.
    services: HashMap<Box<[u8]>, Arc<dyn Service>, foldhash::fast::FixedState>,
    /// Longer prefixes first.
    mounts: Vec<Mount>,
    fallback: Arc<dyn Service>,
    methods: Vec<Method>,
}

impl Router {
    /// Starts building a router.
    pub fn builder() -> RouterBuilder {
        RouterBuilder::default()
    }

    /// Wraps the whole router in a layer: known and unknown methods, mounted services and extensions such as
    /// `rpc.discover`. The result still [describes](Describe) the methods.
    ///
    /// Of several layers, the one added last is the outermost.
    #[must_use]
    pub fn layered(self, layer: impl Layer) -> Layered {
        Layered::new(self, layer)
    }

    /// The description of all methods, with schemas of the 2020-12 draft.
    #[must_use]
    pub fn describe(&self) -> Description {
        self.describe_in(Dialect::default())
    }

    /// Answers a method that is not in the table.
    #[inline(never)]
    fn call_other(&self, call: &Call) -> ReplyFuture {
        match self.mounts.iter().find(|mount| mount.has(call.method.as_str())) {
            Some(mount) => mount.service().call(call),
            None => self.fallback.call(call),
        }
    }
}

impl Service for Router {
    fn call(&self, call: &Call) -> ReplyFuture {
        match self.services.get(call.method.as_bytes()) {
            Some(service) => service.call(call),
            None => self.call_other(call),
        }
    }
}

impl Describe for Router {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        describe(&self.methods, &self.mounts, schemas)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("methods", &self.methods).finish_non_exhaustive()
    }
}

/// Collects methods. [`build`](RouterBuilder::build) reports mistakes, so they appear when the program starts and not when a
/// call arrives.
#[derive(Default)]
#[must_use = "call `build` to make the router"]
pub struct RouterBuilder {
    methods: Vec<Method>,
    extensions: Vec<Method>,
    mounts: Vec<Mount>,
    fallback: Option<Arc<dyn Service>>,
}

/// Why a router cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// Two methods have the same name.
    #[error("the method {0:?} is registered twice; rename one, or put it in another namespace")]
    Duplicate(String),
    /// The specification reserves names that start with `rpc.` for extensions of the protocol (J2-06).
    #[error(
        "the method {0:?} starts with \"rpc.\", which is reserved for protocol extensions; rename it, or add it with `extension`"
    )]
    Reserved(String),
    /// Two services have the same prefix.
    #[error("two services are mounted at {0:?}; give one of them another prefix")]
    DuplicateMount(String),
    /// A name is empty.
    #[error("a method has an empty name; give it one")]
    Unnamed,
}

impl RouterBuilder {
    /// Adds a group of methods.
    #[expect(
        clippy::should_implement_trait,
        reason = "routers are not added with `+`, and `add` is the plainest word"
    )]
    pub fn add(mut self, methods: impl Methods) -> RouterBuilder {
        self.methods.extend(methods.methods());
        self
    }

    /// Adds a synchronous function, see [`Method::sync`].
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

    /// Adds a method whose name starts with `rpc.`, for an extension of the protocol.
    pub fn extension(mut self, method: Method) -> RouterBuilder {
        self.extensions.push(method);
        self
    }

    /// Adds everything from another builder. Its fallback is used if this one has none.
    pub fn merge(mut self, other: RouterBuilder) -> RouterBuilder {
        self.methods.extend(other.methods);
        self.extensions.extend(other.extensions);
        self.mounts.extend(other.mounts);
        self.fallback = self.fallback.or(other.fallback);
        self
    }

    /// Adds the methods and mounted services of another builder with `prefix` in front of their names, as in `admin/` or `eth_`.
    ///
    /// Its fallback and its extensions are left out: they have no namespace.
    pub fn namespace(mut self, prefix: &str, other: RouterBuilder) -> RouterBuilder {
        self.methods.extend(other.methods.into_iter().map(|method| method.prefixed(prefix)));
        self.mounts.extend(other.mounts.into_iter().map(|mount| mount.prefixed(prefix)));
        self
    }

    /// Passes all methods that start with `prefix` on to a service, without the prefix. The names of the service's
    /// subscriptions get the prefix.
    ///
    /// Methods of the router take precedence, and the longest prefix wins. The router does not describe the service's
    /// methods; see [`mount_described`](RouterBuilder::mount_described).
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::{ErrorObject, Peer, Router};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let weather = Peer::from(Router::builder().method("today", |(): (), _| Ok::<_, ErrorObject>("rain")).build()?);
    /// // `weather` is a peer that is connected to another server.
    /// let router = Router::builder().mount("weather/", weather).build()?;
    /// assert_eq!(Peer::from(router).call::<String>("weather/today", ()).await?, "rain");
    /// # Ok(())
    /// # }
    /// ```
    pub fn mount(mut self, prefix: impl Into<String>, service: impl Service) -> RouterBuilder {
        self.mounts.push(Mount::new(prefix.into(), Arc::new(service), None));
        self
    }

    /// Like [`mount`](RouterBuilder::mount), for a service that describes itself: its methods are part of the router's
    /// description.
    pub fn mount_described(mut self, prefix: impl Into<String>, service: impl Describe) -> RouterBuilder {
        let service = Arc::new(service);
        self.mounts.push(Mount::new(prefix.into(), Arc::clone(&service) as _, Some(service)));
        self
    }

    /// Sets the service for unknown methods. By default they get -32601 with the name as `data.method`.
    pub fn fallback(mut self, service: impl Service) -> RouterBuilder {
        self.fallback = Some(Arc::new(service));
        self
    }

    /// Wraps every method and every mounted service added so far, each separately.
    ///
    /// Unknown methods and everything added later stay outside, such as the `rpc.discover` that discovery adds when it
    /// builds the router. To wrap everything, use [`Router::layered`].
    #[expect(clippy::needless_pass_by_value, reason = "a layer is mostly made where it is used")]
    pub fn layer_methods(mut self, layer: impl Layer) -> RouterBuilder {
        for method in self.methods.iter_mut().chain(&mut self.extensions) {
            method.service = layer.layer(Arc::clone(&method.service));
        }
        self.mounts = self.mounts.into_iter().map(|mount| mount.layered(&layer)).collect();
        self
    }

    /// The description of the methods added so far, with schemas in this dialect.
    #[must_use]
    pub fn describe_in(&self, dialect: Dialect) -> Description {
        let methods: Vec<Method> = self.methods.iter().chain(&self.extensions).cloned().collect();
        let mounts = longest_first(self.mounts.clone());
        Description::of(dialect, |schemas| describe(&methods, &mounts, schemas))
    }

    /// Builds the router.
    ///
    /// # Errors
    ///
    /// When a name or a prefix is used twice, or a name is empty or reserved.
    pub fn build(self) -> Result<Router, RouterError> {
        let mut services = HashMap::with_hasher(foldhash::fast::FixedState::default());
        let names = self.methods.iter().map(|method| &method.name);
        if let Some(name) =
            names.chain(self.mounts.iter().map(|mount| &mount.prefix)).find(|name| name.starts_with("rpc."))
        {
            return Err(RouterError::Reserved(name.clone()));
        }
        let mounts = longest_first(self.mounts);
        if let Some(pair) = mounts.windows(2).find(|pair| pair[0].prefix == pair[1].prefix) {
            return Err(RouterError::DuplicateMount(pair[0].prefix.clone()));
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
        let fallback = self.fallback.unwrap_or_else(|| Arc::new(service_fn(unknown)));
        Ok(Router { services, mounts, fallback, methods })
    }
}

fn unknown(call: &Call) -> ReplyFuture {
    ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()))
}

/// The longest prefix counts, so it stands first; beside it an equal one.
fn longest_first(mut mounts: Vec<Mount>) -> Vec<Mount> {
    mounts.sort_by(|a, b| b.prefix.len().cmp(&a.prefix.len()).then_with(|| a.prefix.cmp(&b.prefix)));
    mounts
}

/// The methods that can be called, in the order of their names. What others hide is left out.
fn describe(methods: &[Method], mounts: &[Mount], schemas: &mut Schemas) -> Vec<MethodDescription> {
    let mut described: Vec<_> = methods.iter().map(|method| method.describe(schemas)).collect();
    for (position, mount) in mounts.iter().enumerate() {
        let is_hidden = |name: &str| {
            mounts[..position].iter().any(|longer| longer.has(name))
                || methods.iter().any(|method| method.name == name)
        };
        described.extend(mount.describe(schemas).into_iter().filter(|method| !is_hidden(&method.name)));
    }
    described.sort_by(|a, b| a.name.cmp(&b.name));
    described
}

/// What answers a method, with the names of its subscription on its streams.
fn spelled(method: &Method) -> Arc<dyn Service> {
    let service = Arc::clone(&method.service);
    let Some(names) = method.subscription.clone().map(Arc::new) else { return service };
    Arc::new(service_fn(move |call| {
        let names = Arc::clone(&names);
        service.call(call).map(move |reply| reply.map_items(|items| items.named(names)))
    }))
}

impl fmt::Debug for RouterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterBuilder").field("methods", &self.methods).finish_non_exhaustive()
    }
}
