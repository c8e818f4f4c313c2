//! The methods in use with their description, which a reload of a gateway replaces.

use std::sync::Arc;

use arc_swap::ArcSwap;
use switchboard::openrpc::{DiscoveryHandle, Document};
use switchboard::{Call, Describe, MethodDescription, ReplyFuture, Router, Schemas, Service};

/// Methods that describe themselves.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) router: Arc<Router>,
    pub(crate) discovery: DiscoveryHandle,
}

/// Those in use. Clones see the same ones.
#[derive(Clone)]
pub(crate) struct Current(Arc<ArcSwap<Described>>);

impl Current {
    pub(crate) fn new(described: Described) -> Current {
        Current(Arc::new(ArcSwap::from_pointee(described)))
    }

    pub(crate) fn router(&self) -> Arc<Router> {
        Arc::clone(&self.0.load().router)
    }

    /// Uses others from now on.
    pub(crate) fn replace(&self, described: Described) {
        self.0.store(Arc::new(described));
    }

    /// Writes the description again.
    pub(crate) fn refresh(&self, document: impl FnOnce(&Arc<Router>) -> Document) {
        let described = self.0.load_full();
        described.discovery.replace(document(&described.router));
    }
}

impl Service for Current {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.router().call(call)
    }
}

impl Describe for Current {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        self.router().describe_methods(schemas)
    }
}
