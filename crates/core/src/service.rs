//! The central trait: everything that answers a call.

use std::sync::Arc;

use crate::call::Call;
use crate::reply::ReplyFuture;

/// Answers calls. Handlers, routers, layers, remote peers and whole gateways are services.
///
/// `call` is invoked in the order of arrival, and what it does before returning happens in that order. The future may run
/// concurrently with others; dropping it cancels the call.
///
/// `call` runs where frames are read, so it must not block. Do slow work in the future. The call is borrowed, so
/// that passing it on costs nothing, to one service or to several; the future must clone what it needs.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Call, Json, Reply, ReplyFuture, Service};
///
/// struct Ping;
///
/// impl Service for Ping {
///     fn call(&self, _: &Call) -> ReplyFuture {
///         ReplyFuture::ready(Reply::value(Json::TRUE))
///     }
/// }
/// ```
pub trait Service: Send + Sync + 'static {
    /// Answers one call. It never fails: a failure is a [`Reply::error`](crate::Reply::error).
    fn call(&self, call: &Call) -> ReplyFuture;
}

impl<S: Service + ?Sized> Service for Arc<S> {
    fn call(&self, call: &Call) -> ReplyFuture {
        (**self).call(call)
    }
}

/// Makes a service from a function.
pub fn service_fn<F>(function: F) -> ServiceFn<F>
where
    F: Fn(&Call) -> ReplyFuture + Send + Sync + 'static,
{
    ServiceFn(function)
}

/// A function as a service, see [`service_fn`].
#[derive(Clone, Debug)]
pub struct ServiceFn<F>(F);

impl<F> Service for ServiceFn<F>
where
    F: Fn(&Call) -> ReplyFuture + Send + Sync + 'static,
{
    fn call(&self, call: &Call) -> ReplyFuture {
        (self.0)(call)
    }
}
