//! Routes calls to the backends.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use switchboard_core::{
    Call, Describe, ErrorObject, MethodDescription, Name, Reply, ReplyFuture, Schemas, Service, Subscription,
};

use crate::backend::{Backend, Known};
use crate::route::Route;
use crate::routed::Routed;
use crate::stack::Stack;

/// The upstreams as one service: each call goes to the one whose prefix its method has, unless a [`Route`] says otherwise.
///
/// It describes the methods of all upstreams. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Peer, Router};
/// use switchboard_gateway::{Backend, Gateway};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let math = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let gateway = Gateway::builder().backend(Backend::new("math", "math/", math)).build()?;
/// assert_eq!(Peer::local(gateway).call::<i64>("math/add", [2, 3]).await?, 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    /// The longest prefix first.
    backends: Vec<Backend>,
    /// The most specific first.
    routes: Vec<Route>,
    /// The routes of one method each, by its name.
    exact: HashMap<Box<str>, Vec<usize>>,
}

/// Builds a [`Gateway`].
#[derive(Debug, Default)]
pub struct GatewayBuilder {
    backends: Vec<Backend>,
    routes: Vec<Route>,
}

/// Why a gateway cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// Two upstreams have the same name.
    #[error("two upstreams are named {0:?}; rename one")]
    SameName(String),
    /// The methods of two upstreams begin with the same prefix.
    #[error(
        "the upstreams {0:?} and {1:?} have the same prefix {2:?}, so their methods could not be told apart; give one another prefix"
    )]
    SamePrefix(String, String, String),
}

impl GatewayBuilder {
    /// Adds an upstream.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> GatewayBuilder {
        self.backends.push(backend);
        self
    }

    /// Adds a route.
    #[must_use]
    pub fn route(mut self, route: Route) -> GatewayBuilder {
        self.routes.push(route);
        self
    }

    /// The gateway.
    ///
    /// # Errors
    ///
    /// When two upstreams have the same name or prefix.
    pub fn build(self) -> Result<Gateway, GatewayError> {
        let GatewayBuilder { mut backends, mut routes } = self;
        for (index, backend) in backends.iter().enumerate() {
            for other in &backends[index + 1..] {
                if backend.name == other.name {
                    return Err(GatewayError::SameName(backend.name.to_string()));
                }
                if backend.prefix == other.prefix {
                    let [one, two, prefix] =
                        [&backend.name, &other.name, &backend.prefix].map(ToString::to_string);
                    return Err(GatewayError::SamePrefix(one, two, prefix));
                }
            }
        }
        backends.sort_by_key(|backend| std::cmp::Reverse(backend.prefix.len()));
        routes.sort_by_key(|route| std::cmp::Reverse(route.specificity()));
        let mut exact: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        for (index, route) in routes.iter().enumerate() {
            if let Some(method) = route.literal() {
                exact.entry(method.into()).or_default().push(index);
            }
        }
        Ok(Gateway(Arc::new(Inner { backends, routes, exact })))
    }
}

impl Gateway {
    /// Starts building a gateway.
    #[must_use]
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::default()
    }

    /// The upstreams.
    #[must_use]
    pub fn backends(&self) -> &[Backend] {
        &self.0.backends
    }
}

impl Inner {
    /// The routes of a method, the most specific first.
    fn matching<'a, 'm>(&'a self, method: &'m str) -> impl Iterator<Item = &'a Route> + use<'a, 'm> {
        let exact = self.exact.get(method).into_iter().flatten().map(|index| &self.routes[*index]);
        let others =
            self.routes.iter().filter(move |route| route.literal().is_none() && route.matches(method));
        exact.chain(others)
    }

    /// The most specific route of a call whose conditions hold.
    fn route(&self, call: &Call) -> Option<&Route> {
        self.matching(call.method.as_str()).find(|route| route.conditions.hold(call))
    }

    /// The method that callers know by another name because of this route, if it is one of these.
    fn renamed(&self, route: &Route, methods: &[MethodDescription]) -> Option<MethodDescription> {
        let (outside, upstream, inside) = route.renamed()?;
        let backend = self.backends.iter().find(|backend| *backend.name == *upstream)?;
        let name = format!("{}{inside}", backend.prefix);
        let mut method = methods.iter().find(|method| method.name == name)?.clone();
        outside.clone_into(&mut method.name);
        Some(method)
    }

    /// The upstream of a call with this route, or by the prefix of its method.
    fn backend(&self, route: Option<&Route>, method: &str) -> Option<&Backend> {
        match route {
            Some(route) if route.is_closed => None,
            Some(Route { upstream: Some(name), .. }) => {
                self.backends.iter().find(|backend| *backend.name == **name)
            }
            _ => self.backends.iter().find(|backend| backend.has(method)),
        }
    }
}

/// What [`Gateway::explain`] asks, too.
impl Gateway {
    pub(crate) fn matching<'a, 'm>(
        &'a self,
        method: &'m str,
    ) -> impl Iterator<Item = &'a Route> + use<'a, 'm> {
        self.0.matching(method)
    }

    pub(crate) fn backend(&self, route: Option<&Route>, method: &str) -> Option<&Backend> {
        self.0.backend(route, method)
    }

    /// Changes a call, which came under this name, to what the upstream gets.
    pub(crate) fn prepare(
        route: Option<&Route>,
        backend: &Backend,
        call: &mut Call,
        outside: &str,
    ) -> Result<(), ErrorObject> {
        if let Some(rest) = outside.strip_prefix(&*backend.prefix).filter(|rest| !rest.is_empty()) {
            call.method = Name::from(rest);
        }
        if let Some(route) = route {
            let discovered = match &backend.known {
                Known::Remote(discovered) => Some(discovered),
                Known::Itself(_) => None,
            };
            route.rename_call(call, outside);
            route.rewrite(call, discovered)?;
        }
        if let Some(names) = stream_names(backend, call) {
            call.cx.insert(names);
        }
        Ok(())
    }

    /// The policies that apply.
    pub(crate) fn stack<'a>(route: Option<&'a Route>, backend: &'a Backend) -> &'a Stack {
        route.and_then(|route| route.stack(&backend.name)).unwrap_or(&backend.stack)
    }
}

impl Service for Gateway {
    fn call(&self, call: &Call) -> ReplyFuture {
        let inner = &*self.0;
        let route = if inner.routes.is_empty() { None } else { inner.route(call) };
        let method = call.method.as_str();
        let Some(backend) = inner.backend(route, method) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(method));
        };
        Routed::chosen(call, &backend.name);
        let stack = Gateway::stack(route, backend);
        if route.is_none() && backend.prefix.is_empty() && stream_names(backend, call).is_none() {
            return stack.service.call(call);
        }
        let mut inside = call.clone();
        if let Err(error) = Gateway::prepare(route, backend, &mut inside, method) {
            return ReplyFuture::ready(error);
        }
        let reply = stack.service.call(&inside);
        if backend.prefix.is_empty() {
            return reply;
        }
        let prefix = Arc::clone(&backend.prefix);
        reply.map(move |reply| with_prefix(reply, &prefix))
    }
}

/// The names of the stream that a call opens, where they are known.
fn stream_names(backend: &Backend, call: &Call) -> Option<Arc<Subscription>> {
    if let Some(names) = Subscription::by_name(&call.method) {
        return Some(Arc::new(names));
    }
    match &backend.known {
        Known::Remote(discovered) => discovered.stream_names(&call.method),
        _ => None,
    }
}

fn with_prefix(reply: Reply, prefix: &str) -> Reply {
    reply.map_items(|items| match items.subscription() {
        Some(names) => {
            let names = names.prefixed(prefix);
            items.named(names)
        }
        None => items,
    })
}

impl Describe for Gateway {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        let inner = &*self.0;
        let methods: Vec<_> = inner.backends.iter().flat_map(|backend| backend.describe(schemas)).collect();
        let renamed: Vec<_> =
            inner.routes.iter().filter_map(|route| inner.renamed(route, &methods)).collect();
        let is_closed = |method: &MethodDescription| {
            let mut routes = inner.routes.iter().filter(|route| route.matches(&method.name));
            routes.next().is_some_and(|route| route.is_closed)
        };
        // Before the others, because a route comes before a method of the same name.
        let mut methods: Vec<_> =
            renamed.into_iter().chain(methods.into_iter().filter(|method| !is_closed(method))).collect();
        methods.sort_by(|one, two| one.name.cmp(&two.name));
        // With an empty prefix, a method may look like that of another upstream, which then gets its calls.
        methods.dedup_by(|one, two| one.name == two.name);
        methods
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { backends, routes, .. } = &*self.0;
        f.debug_struct("Gateway").field("backends", backends).field("routes", routes).finish_non_exhaustive()
    }
}
