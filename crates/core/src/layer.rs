//! What wraps a service.

use std::sync::Arc;

use crate::service::Service;

/// Wraps a service in another: authentication, limits, logs, caches.
///
/// A layer sees every call on its own, notifications and the entries of a batch included, and no layer ever sees a
/// batch.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{Layer, Service, service_fn};
///
/// struct Shout;
///
/// impl Layer for Shout {
///     fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
///         Arc::new(service_fn(move |call| {
///             let mut call = call.clone();
///             call.method = call.method.as_str().to_uppercase().into();
///             inner.call(&call)
///         }))
///     }
/// }
/// ```
pub trait Layer {
    /// The wrapped service.
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service>;
}

impl<F> Layer for F
where
    F: Fn(Arc<dyn Service>) -> Arc<dyn Service>,
{
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        self(inner)
    }
}
