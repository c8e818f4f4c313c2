//! The policies of an upstream.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, Layer, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};

/// A service with layers around it, each of which says what it would do with a call. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Call, Json, Reply, ReplyFuture, service_fn};
/// use switchboard_gateway::{Attempts, Backend, Breaker, Node, Pool, Retry, Stack};
///
/// let server = service_fn(|_: &Call| ReplyFuture::ready(Reply::value(Json::TRUE)));
/// let pool = Pool::builder("math").node(Node::new("one", server)).build();
/// let attempts = Attempts::new(pool, Retry::default(), None, |_| false);
/// let backend = Backend::new("math", "math/", Stack::of(attempts).with(Breaker::default()));
/// ```
#[derive(Clone)]
pub struct Stack {
    pub(crate) service: Arc<dyn Service>,
    /// Innermost first.
    parts: Vec<Arc<dyn Explain>>,
}

impl Stack {
    /// A service without layers that explains itself.
    pub fn of(service: impl Service + Explain + Clone) -> Stack {
        Stack { service: Arc::new(service.clone()), parts: vec![Arc::new(service)] }
    }

    /// Puts a layer around it.
    #[must_use]
    pub fn with(mut self, layer: impl Layer + Explain) -> Stack {
        self.service = layer.layer(self.service);
        self.parts.push(Arc::new(layer));
        self
    }

    /// Adds a part that only explains: calls do not pass it.
    #[must_use]
    pub fn with_note(mut self, note: impl Explain) -> Stack {
        self.parts.push(Arc::new(note));
        self
    }

    /// What would happen to a call, outermost layer first.
    pub(crate) fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        self.parts.iter().rev().try_for_each(|part| part.explain(call, steps))
    }
}

/// A service that does not explain what it does.
impl<S: Service> From<S> for Stack {
    fn from(service: S) -> Stack {
        Stack { service: Arc::new(service), parts: Vec::new() }
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts.iter().map(Explain::name)).finish()
    }
}
