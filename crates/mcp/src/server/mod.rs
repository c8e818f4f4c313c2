//! The server: MCP methods in front of a service, as a service itself.

mod completion;
mod discover;
mod error;
mod lifecycle;
mod listen;
mod logging;
mod prompts;
mod request;
mod resources;
mod result;
mod running;
mod serve;
mod service;
mod settings;
mod snapshot;
mod subscribers;
mod tasks;
mod tools;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use switchboard_core::{Context, Describe, Method, Profile, Router, Service};

pub use self::error::BuildError;
pub(crate) use self::request::{SUPPORTED, principal};
pub use self::serve::ServeError;
pub use self::settings::CacheScope;
use self::settings::ToolFilter;
pub(crate) use self::snapshot::Snapshot;
pub(crate) use self::subscribers::{Change, Subscribers};
pub(crate) use self::tasks::{TaskCall, Tasks};
use crate::ask::seal::StateKeys;
use crate::catalog::{LeftOut, Offers, build};
use crate::model::{Capability, Contents, Implementation, Resource, Tool};

/// An MCP server: the methods of a service as tools, resources and prompts, for clients of every revision.
///
/// It is cheap to clone, and all clones are the same server: keep one to [change](Server::add) what it offers while it runs. Clients that
/// listen for changes get notified.
///
/// # Examples
///
/// ```
/// use serde::Deserialize;
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_mcp::Server;
///
/// #[derive(Deserialize)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Clients pass arguments by name, so a function takes a struct. With `#[service]` the tool has a schema too.
/// let router = Router::builder().method("add", |add: Add, _| Ok::<_, ErrorObject>(add.a + add.b)).build()?;
/// let server = Server::new(router).named("calculator", "1.0.0");
/// let service = server.service()?; // for any duplex transport, with `Server::profile`
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

/// What all clones of a server share.
pub(crate) struct Shared {
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Held while the snapshot is replaced.
    editing: Mutex<Editing>,
    pub(crate) subscribers: Subscribers,
    pub(crate) tasks: Tasks,
}

struct Editing {
    offers: Offers,
    /// Why the methods that the server was made from cannot be offered.
    fault: Option<BuildError>,
}

impl Server {
    /// A server for the methods of this service.
    ///
    /// A method becomes a tool, unless `#[mcp(…)]` makes it a resource or a prompt, or keeps it out. Notifications and methods whose
    /// names start with `rpc.` are kept out.
    #[must_use]
    pub fn new(service: impl Describe) -> Server {
        Server::offers(Offers::default()).and(service)
    }

    /// The same for methods of other servers, whose names cannot be changed here: a method that would become a tool, resource or prompt
    /// of a name that is taken is left out and logged, instead of being an error.
    #[must_use]
    pub fn forwarding(service: impl Describe) -> Server {
        Server::offers(Offers { is_lenient: true, ..Offers::default() }).and(service)
    }

    /// The names of the tools that [`forwarding`](Server::forwarding) makes of these methods, and the methods behind them. Nothing is logged.
    #[must_use]
    pub fn names_of_tools(service: impl Describe) -> Vec<(String, String)> {
        let offers = Offers { services: vec![Arc::new(service)], is_lenient: true, ..Offers::default() };
        build(&offers).map(|catalog| catalog.names_of_tools()).unwrap_or_default()
    }

    fn offers(offers: Offers) -> Server {
        let shared = Shared {
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            editing: Mutex::new(Editing { offers, fault: None }),
            subscribers: Subscribers::default(),
            tasks: Tasks::default(),
        };
        Server(Arc::new(shared))
    }

    /// Adds the methods of another service.
    #[must_use]
    pub fn and(self, service: impl Describe) -> Server {
        let service: Arc<dyn Describe> = Arc::new(service);
        self.offering(|offers| offers.services.push(service))
    }

    /// Sets the name and the version that clients see.
    #[must_use]
    pub fn named(self, name: impl Into<String>, version: impl Into<String>) -> Server {
        self.described(Implementation::new(name, version))
    }

    /// Sets what clients see of the server: its name, version, title and icons.
    #[must_use]
    pub fn described(self, server: Implementation) -> Server {
        self.with(|snapshot| snapshot.set_server(server))
    }

    /// Sets instructions for models: how the tools, resources and prompts belong together.
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Server {
        let text = text.into();
        self.with(|snapshot| snapshot.instructions = Some(text))
    }

    /// Declares capabilities before there is anything for them, for servers whose lists begin empty.
    ///
    /// What the server has is declared without this, and stays declared when the last entry is removed. But clients learn of
    /// capabilities only once: one that connected before there were prompts does not hear of the first prompt, unless prompts were
    /// declared ahead.
    #[must_use]
    pub fn declares(self, capabilities: impl IntoIterator<Item = Capability>) -> Server {
        self.with(|snapshot| snapshot.declare(capabilities))
    }

    /// Adds a resource with fixed contents.
    #[must_use]
    pub fn resource(self, resource: Resource, contents: Contents) -> Server {
        self.offering(|offers| offers.resources.push((resource, contents)))
    }

    /// Shows each client only the tools that the function returns true for. A hidden tool is an unknown tool.
    ///
    /// The function sees the tool and the context of the request, with the identity of its caller. It must not depend on the
    /// session: lists of stateless clients do not vary with it (MCP-T-09).
    #[must_use]
    pub fn visible(self, is_visible: impl Fn(&Tool, &Context) -> bool + Send + Sync + 'static) -> Server {
        self.with(|snapshot| snapshot.filter = Some(ToolFilter::by_tool(is_visible)))
    }

    /// Shows each client only what the function returns true for, by the name of the method behind it: tools, resources and prompts.
    #[must_use]
    pub fn visible_methods(
        self,
        is_visible: impl Fn(&str, &Context) -> bool + Send + Sync + 'static,
    ) -> Server {
        self.with(|snapshot| snapshot.filter = Some(ToolFilter::by_method(is_visible)))
    }

    /// Says more about tools that are not offered, when they are called: the function gets the name of the tool.
    #[must_use]
    pub fn missing(self, why: impl Fn(&str, &Context) -> Option<String> + Send + Sync + 'static) -> Server {
        self.with(|snapshot| snapshot.missing = Some(Arc::new(why)))
    }

    /// Sets how long stateless clients may reuse lists and resources, and whether they may share them between users: by default
    /// not at all, and not.
    #[must_use]
    pub fn cache(self, time: Duration, scope: CacheScope) -> Server {
        self.with(|snapshot| snapshot.cache = (time, scope))
    }

    /// Sets how many entries a page of a list has: 500 by default.
    #[must_use]
    pub fn page_size(self, entries: usize) -> Server {
        self.with(|snapshot| snapshot.page_size = entries.max(1))
    }

    /// Sets how long a call may take, without the time that it waits for answers of its client: 30 seconds by default.
    #[must_use]
    pub fn call_time(self, time: Duration) -> Server {
        self.with(|snapshot| snapshot.call_time = time)
    }

    /// Sets the keys that seal the state of calls which ask stateless clients. Servers behind one address share them, for
    /// example with [`StateKeys::shared`]; by default the key is random, so a call that asks has to be finished by the same process.
    #[must_use]
    pub fn state_keys(self, keys: StateKeys) -> Server {
        self.with(|snapshot| snapshot.keys = Arc::new(keys))
    }

    fn with(self, change: impl FnOnce(&mut Snapshot)) -> Server {
        let editing = self.editing();
        let mut snapshot = Snapshot::clone(&self.0.snapshot.load());
        change(&mut snapshot);
        self.0.snapshot.store(Arc::new(snapshot));
        drop(editing);
        self
    }

    fn offering(self, change: impl FnOnce(&mut Offers)) -> Server {
        if let Err(fault) = self.change(change) {
            self.editing().fault.get_or_insert(fault);
        }
        self
    }

    fn editing(&self) -> std::sync::MutexGuard<'_, Editing> {
        self.0.editing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is offered, and tells the clients whose lists changed.
    fn change(&self, change: impl FnOnce(&mut Offers)) -> Result<(), BuildError> {
        let mut editing = self.editing();
        let mut offers = editing.offers.clone();
        change(&mut offers);
        let before = self.0.snapshot.load_full();
        let mut snapshot = Snapshot::clone(&before);
        snapshot.offer(&offers)?;
        let changes = snapshot.changes_since(&before);
        let known = &before.catalog.left_out;
        for LeftOut { key, method, instead } in
            snapshot.catalog.left_out.iter().filter(|one| !known.contains(one))
        {
            tracing::warn!(
                name = key,
                method,
                instead,
                "this method is not offered over MCP, because another method already has its name"
            );
        }
        self.0.snapshot.store(Arc::new(snapshot));
        editing.offers = offers;
        drop(editing);
        changes.into_iter().for_each(|change| self.0.subscribers.publish(&change));
        Ok(())
    }
}

/// Changes while the server runs.
impl Server {
    /// Adds a method, which becomes a tool, resource or prompt.
    ///
    /// Layers around the service that the server was made from do not see its calls; put layers around the method itself.
    ///
    /// # Errors
    ///
    /// When there is one of that name, or the method's name is not allowed.
    pub fn add(&self, method: Method) -> Result<(), BuildError> {
        let router =
            Router::builder().add(method).build().map_err(|error| BuildError::Method(error.to_string()))?;
        let service: Arc<dyn Describe> = Arc::new(router);
        self.change(|offers| offers.services.push(service))
    }

    /// Reads the descriptions of its services again, and tells the clients whose lists changed.
    ///
    /// # Errors
    ///
    /// When what the services have now cannot be offered. Then everything stays as it was.
    pub fn refresh(&self) -> Result<(), BuildError> {
        self.change(|_| {})
    }

    /// Adds a resource with fixed contents, or replaces the one with its URI.
    ///
    /// # Errors
    ///
    /// When a method has that URI.
    pub fn set_resource(&self, resource: Resource, contents: Contents) -> Result<(), BuildError> {
        let uri = resource.uri.clone();
        self.change(|offers| {
            offers.resources.retain(|(known, _)| known.uri != resource.uri);
            offers.resources.push((resource, contents));
        })?;
        self.updated(&uri);
        Ok(())
    }

    /// Removes what was [added](Server::add) or [set](Server::set_resource) under this name or URI, and returns whether there was
    /// anything. Something else may then be added under it. Single methods of a service with several can only be
    /// [disabled](Server::disable).
    pub fn remove(&self, name: &str) -> bool {
        let mut is_removed = false;
        // Fewer entries cannot collide.
        let _ = self.change(|offers| is_removed = offers.remove(name));
        is_removed
    }

    /// Stops offering a tool, prompt or resource, by its name or URI, until it is [enabled](Server::enable).
    pub fn disable(&self, name: &str) {
        // Fewer entries cannot collide.
        let _ = self.change(|offers| {
            offers.disabled.insert(name.to_owned());
        });
    }

    /// Offers again what was [disabled](Server::disable).
    ///
    /// # Errors
    ///
    /// When something of the same name was added meanwhile.
    pub fn enable(&self, name: &str) -> Result<(), BuildError> {
        self.change(|offers| {
            offers.disabled.remove(name);
        })
    }

    /// Tells the clients that subscribed to a resource that it has changed.
    pub fn updated(&self, uri: &str) {
        self.0.subscribers.publish(&Change::Resource(uri.to_owned()));
    }

    /// The tools that are offered now, by name, and the methods behind them.
    #[must_use]
    pub fn tools(&self) -> Vec<(String, String)> {
        self.0.snapshot.load().catalog.names_of_tools()
    }
}

/// How the server is run.
impl Server {
    /// The service that answers the methods of MCP. Run it over duplex transports with the [profile](Server::profile).
    ///
    /// # Errors
    ///
    /// When two methods become tools of the same name, or a method cannot be offered.
    pub fn service(&self) -> Result<Arc<dyn Service>, BuildError> {
        match &self.editing().fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(Arc::new(service::McpService(Arc::clone(&self.0)))),
        }
    }

    /// The dialect of MCP: how calls are cancelled, and that only sessions of 2025-03-26 send batches.
    #[must_use]
    pub fn profile() -> Profile {
        lifecycle::profile()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<String> = self.tools().into_iter().map(|(name, _)| name).collect();
        f.debug_struct("Server").field("tools", &tools).finish_non_exhaustive()
    }
}
