//! Layers: middleware around services.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::call::Call;
use crate::reply::{Reply, ReplyFuture};
use crate::service::{Service, service_fn};

/// Wraps a service in another: authentication, limits, logs, caches.
///
/// A layer sees each call separately, including notifications and the entries of a batch; no layer ever sees a
/// batch. Around a whole router ([`Router::layered`](crate::Router::layered)) it sees unknown methods and `rpc.discover`
/// too.
///
/// [`layer_fn`] is the shortest way to write one. Implement the trait for layers on a hot path: a service can answer at once
/// or pass the call on without a copy and without an extra future.
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

/// Makes a layer from an asynchronous function, which gets each call and the next service.
///
/// The future must own what it uses: move clones of captured values into it. An `async` closure that captures nothing works too:
/// `layer_fn(async |call, next| next.run(&call).await)`.
///
/// # Examples
///
/// ```
/// use std::time::Instant;
/// use switchboard_core::{ErrorObject, Peer, Router, layer_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let timed = layer_fn(|call, next| async move {
///     let start = Instant::now();
///     let reply = next.run(&call).await;
///     println!("{} took {:?}", call.method, start.elapsed());
///     reply
/// });
/// let guard = layer_fn(|call, next| async move {
///     if call.method.as_str().starts_with("admin/") {
///         return ErrorObject::unauthorized().into();
///     }
///     next.run(&call).await
/// });
/// let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build()?;
/// // The layer that is added last is the outermost.
/// let peer = Peer::from(router.layered(guard).layered(timed));
/// assert_eq!(peer.call::<String>("ping", ()).await?, "pong");
/// # Ok(())
/// # }
/// ```
pub fn layer_fn<F, R>(function: F) -> LayerFn<F>
where
    F: Fn(Call, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    LayerFn(Arc::new(function))
}

/// A function as a layer, see [`layer_fn`].
pub struct LayerFn<F>(Arc<F>);

impl<F, R> Layer for LayerFn<F>
where
    F: Fn(Call, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        let function = Arc::clone(&self.0);
        Arc::new(service_fn(move |call| {
            ReplyFuture::pending(function(call.clone(), Next(Arc::clone(&inner))))
        }))
    }
}

impl<F> Clone for LayerFn<F> {
    fn clone(&self) -> LayerFn<F> {
        LayerFn(Arc::clone(&self.0))
    }
}

impl<F> fmt::Debug for LayerFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LayerFn(..)")
    }
}

/// The next service inside a layer, see [`layer_fn`].
#[derive(Clone)]
pub struct Next(Arc<dyn Service>);

impl Next {
    /// Passes the call on. A layer may change the call, and may call this several times.
    pub fn run(&self, call: &Call) -> ReplyFuture {
        self.0.call(call)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next(..)")
    }
}
