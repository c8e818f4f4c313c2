//! A service with layers that still describes itself.

use std::fmt;
use std::sync::Arc;

use crate::call::Call;
use crate::describe::{Describe, Description, MethodDescription};
use crate::layer::Layer;
use crate::reply::ReplyFuture;
use crate::schemas::{Dialect, Schemas};
use crate::service::Service;

/// A service with layers, which describes the methods of the inner service. Made by
/// [`Router::layered`](crate::Router::layered).
#[derive(Clone)]
pub struct Layered {
    service: Arc<dyn Service>,
    inside: Arc<dyn Describe>,
}

impl Layered {
    /// Wraps the service in a layer.
    #[expect(clippy::needless_pass_by_value, reason = "a layer is mostly made where it is used")]
    pub fn new(service: impl Describe, layer: impl Layer) -> Layered {
        let service = Arc::new(service);
        Layered { service: layer.layer(Arc::clone(&service) as _), inside: service }
    }

    /// Adds an outermost layer.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a layer is mostly made where it is used")]
    pub fn layered(self, layer: impl Layer) -> Layered {
        Layered { service: layer.layer(self.service), inside: self.inside }
    }

    /// The methods of the inner service, with schemas of the 2020-12 draft.
    #[must_use]
    pub fn describe(&self) -> Description {
        self.describe_in(Dialect::default())
    }
}

impl Service for Layered {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.service.call(call)
    }
}

impl Describe for Layered {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        self.inside.describe_methods(schemas)
    }
}

impl fmt::Debug for Layered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Layered(..)")
    }
}
