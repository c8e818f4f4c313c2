//! A named upstream of a gateway.

use std::fmt;
use std::sync::Arc;

use switchboard_core::{Describe, MethodDescription, Schemas};

use crate::discovered::Discovered;
use crate::stack::Stack;

/// A named upstream of a [`Gateway`](crate::Gateway): what answers its calls, and what is known about its methods. Cheap to clone.
#[derive(Clone)]
pub struct Backend {
    pub(crate) name: Arc<str>,
    pub(crate) prefix: Arc<str>,
    pub(crate) stack: Stack,
    pub(crate) known: Known,
}

/// What is known about the methods of a backend.
#[derive(Clone)]
pub(crate) enum Known {
    /// Nothing, or what the service says itself.
    Itself(Option<Arc<dyn Describe>>),
    /// What its `rpc.discover` or a document says.
    Remote(Discovered),
}

impl Backend {
    /// A service whose methods get this prefix, such as `math/`, or keep their names if it is empty.
    pub fn new(name: impl Into<Arc<str>>, prefix: impl Into<Arc<str>>, service: impl Into<Stack>) -> Backend {
        let (name, prefix, stack) = (name.into(), prefix.into(), service.into());
        Backend { name, prefix, stack, known: Known::Itself(None) }
    }

    /// Shows these methods of the service.
    #[must_use]
    pub fn described(mut self, methods: impl Describe) -> Backend {
        self.known = Known::Itself(Some(Arc::new(methods)));
        self
    }

    /// Shows the methods that the server describes.
    #[must_use]
    pub fn discovered(mut self, discovered: Discovered) -> Backend {
        self.known = Known::Remote(discovered);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its methods begin with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether a method begins with its prefix. The prefix alone is not a method.
    pub(crate) fn has(&self, method: &str) -> bool {
        method.len() > self.prefix.len() && method.starts_with(&*self.prefix)
    }

    /// Its methods under the names that the gateway gives them.
    pub(crate) fn describe(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        let methods = match &self.known {
            Known::Itself(methods) => {
                methods.iter().flat_map(|methods| methods.describe_methods(schemas)).collect()
            }
            Known::Remote(discovered) => discovered.describe(),
        };
        let prefixed = methods.into_iter().map(|mut method: MethodDescription| {
            method.name.insert_str(0, &self.prefix);
            method.subscription = method.subscription.map(|names| names.prefixed(&self.prefix));
            method
        });
        prefixed.collect()
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Backend { name, prefix, .. } = self;
        f.debug_struct("Backend").field("name", name).field("prefix", prefix).finish_non_exhaustive()
    }
}
