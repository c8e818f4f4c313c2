//! The other end of a connection, as a service to call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::batch_builder::BatchBuilder;
use crate::call::{Call, encode_params};
use crate::call_error::CallError;
use crate::call_options::{PROGRESS_WAITING, ProgressSender};
use crate::context::Inherited;
use crate::engine::moment_after;
use crate::json::Json;
use crate::layered::Layered;
use crate::metadata::Metadata;
use crate::name::Name;
use crate::progress::{Seen, WithProgress};
use crate::reply::{Outcome, Reply, ReplyFuture};
use crate::request::{Request, StreamRequest};
use crate::router::Router;
use crate::service::{Service, ServiceFn};
use crate::subscription::Subscription;

/// A remote service behind a transport, which also accepts several calls at once.
pub trait Remote: Service {
    /// Sends calls as one batch; returns one reply for each, in the order of the calls. A single error for the whole batch is marked
    /// ([`Extra::is_for_batch`](crate::Extra::is_for_batch)).
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>;

    /// Waits until the peer is closed, and returns the reason. If each call uses its own connection, this never completes.
    ///
    /// Waiting does not keep the connection open.
    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>>;

    /// The peer that this one passes calls to, if it only adds something to them.
    fn wrapped(&self) -> Option<&Peer> {
        None
    }
}

/// The other end of a connection, to call methods on. Cheap to clone, and a [`Service`] itself.
///
/// Clients, calls from a server to its client, and the upstream of a gateway all use it.
///
/// # Examples
///
/// ```
/// # use switchboard_core::{CallError, Peer};
/// # async fn example(peer: Peer) -> Result<(), CallError> {
/// let sum: i64 = peer.call("math/add", [2, 3]).await?;
/// peer.notify("log", ("hello",)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Peer {
    remote: Option<Arc<dyn Remote>>,
    /// The timeout of calls, if it was set.
    timeout: Option<Duration>,
    /// What calls inherit from the one that they are made for.
    parent: Option<Arc<Parent>>,
}

/// What a call that is being handled leaves to those that are made for it.
struct Parent {
    deadline: Option<Instant>,
    metadata: Metadata,
}

/// The default timeout of a call.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

impl Peer {
    /// The remote end of a transport.
    #[must_use]
    pub fn new(remote: impl Remote) -> Peer {
        Peer { remote: Some(Arc::new(remote)), timeout: None, parent: None }
    }

    /// A peer that calls a service of this process directly, without a transport: to test it, or to call it with a typed
    /// client. Routers, functions and services in an `Arc` can be converted with `into()` too.
    #[must_use]
    pub fn local(service: impl Service) -> Peer {
        Peer::new(Local(service))
    }

    /// A peer that cannot be reached: every call fails with [`CallError::Unsupported`].
    #[must_use]
    pub fn absent() -> Peer {
        Peer { remote: None, timeout: None, parent: None }
    }

    /// Sets the timeout of its calls. The default is 60 s.
    ///
    /// A timeout that was set is sent with each call, so that the server stops when the caller stops waiting; see
    /// [`Profile::call_options`](crate::Profile::call_options).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Peer {
        self.timeout = Some(timeout);
        self
    }

    /// The same peer, for calls made while handling the call with this context. They share its deadline, and those of its
    /// [metadata](crate::Context::metadata) that [`Settings::inherit`](crate::Settings::inherit) of the connection allows are sent with them;
    /// to a service in this process, those of a trace.
    ///
    /// # Examples
    ///
    /// ```
    /// # use switchboard_core::{CallError, Context, Peer};
    /// # async fn example(upstream: Peer, cx: Context) -> Result<i64, CallError> {
    /// upstream.within(&cx).call("add", [2, 3]).await
    /// # }
    /// ```
    #[must_use]
    pub fn within(&self, cx: &crate::Context) -> Peer {
        let parent = Parent { deadline: cx.deadline, metadata: cx.inheritable() };
        Peer { parent: Some(Arc::new(parent)), ..self.clone() }
    }

    /// Gives a call what it takes over from the one that it is made for.
    pub(crate) fn adopt(&self, mut call: Call) -> Call {
        if let Some(parent) = &self.parent {
            call.cx.insert(Inherited(parent.metadata.clone()));
            call.cx.deadline = parent.deadline;
        }
        call
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Calls a method and reads its result.
    ///
    /// A tuple or array passes parameters by position, a struct or map by name, `()` none.
    pub fn call<T>(&self, method: impl Into<Name>, params: impl Serialize) -> Request<T> {
        Request::new(self.clone(), method.into(), encode_params(&params))
    }

    /// Calls a method that answers with a stream. A plain result comes as a stream of one item.
    ///
    /// A method named `ns_subscribe` is treated as an Ethereum subscription. For other names that a server
    /// of another family uses, see [`subscribe`](Peer::subscribe).
    pub fn stream<T>(&self, method: impl Into<Name>, params: impl Serialize) -> StreamRequest<T> {
        let method = method.into();
        let names = Subscription::by_name(&method);
        StreamRequest::new(self.call(method, params), names)
    }

    /// Calls a method that opens a subscription with these names.
    pub fn subscribe<T>(
        &self,
        method: impl Into<Name>,
        params: impl Serialize,
        names: Subscription,
    ) -> StreamRequest<T> {
        StreamRequest::new(self.call(method, params), Some(names))
    }

    /// Sends a notification. A successful send does not mean that it was understood (J2-19).
    ///
    /// # Errors
    ///
    /// When it could not be sent.
    pub async fn notify(&self, method: impl Into<Name>, params: impl Serialize) -> Result<(), CallError> {
        let call = self.adopt(Call::notification(method, encode_params(&params)?));
        match self.ask(call, self.timeout).await?.outcome {
            // Whatever a local service thinks of a notification is not for its sender (J2-18).
            Outcome::Error(error) if error.is_local() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Starts a batch: calls that are collected and sent as one message.
    pub fn batch(&self) -> BatchBuilder {
        BatchBuilder::new(self.clone(), self.timeout)
    }

    /// Whether both lead to the same remote in the same way: over one connection, for instance.
    #[must_use]
    pub fn is_same(&self, other: &Peer) -> bool {
        matches!((self.innermost(), other.innermost()), (Some(one), Some(two)) if Arc::ptr_eq(one, two))
    }

    fn innermost(&self) -> Option<&Arc<dyn Remote>> {
        let remote = self.remote.as_ref()?;
        remote.wrapped().map_or(Some(remote), Peer::innermost)
    }

    /// Waits until the connection is closed, and returns the reason. A transport that opens a connection
    /// for each call is never closed.
    pub async fn closed(&self) -> CallError {
        Remote::closed(self).await
    }

    /// Sends a call and waits for its reply, but not longer than `timeout`, nor than the call that it is made for has time.
    pub(crate) async fn ask(&self, mut call: Call, timeout: Option<Duration>) -> Result<Reply, CallError> {
        let until = moment_after(timeout.unwrap_or(TIMEOUT));
        let until = call.cx.deadline.map_or(until, |deadline| deadline.min(until));
        if timeout.is_some() {
            limit(&mut call, until);
        }
        if call.cx.time_left().is_some_and(|left| left.is_zero()) {
            return Err(CallError::TimedOut);
        }
        let reply = Service::call(self, &call);
        tokio::time::timeout_at(until, reply).await.map_err(|_| CallError::TimedOut)
    }

    /// Sends a call and waits for its reply, watching how it comes along.
    pub(crate) async fn ask_watching(
        &self,
        mut call: Call,
        timeout: Option<Duration>,
        cap: Option<Duration>,
        mut on_progress: Option<OnProgress>,
    ) -> Result<Reply, CallError> {
        let (sender, receiver) = mpsc::channel(PROGRESS_WAITING);
        call.cx.insert(ProgressSender(sender));
        let each = timeout.unwrap_or(TIMEOUT);
        let last = moment_after(cap.unwrap_or(each));
        let last = call.cx.deadline.map_or(last, |deadline| deadline.min(last));
        if timeout.is_some() || cap.is_some() {
            limit(&mut call, last);
        }
        let mut watched = WithProgress::new(Service::call(self, &call), receiver);
        // The sender that the remote uses must be the only one left.
        drop(call);
        let mut until = moment_after(each).min(last);
        loop {
            match tokio::time::timeout_at(until, watched.next()).await.map_err(|_| CallError::TimedOut)? {
                Seen::Reply(reply) => return Ok(reply),
                Seen::Progress(value) => {
                    if cap.is_some() {
                        until = moment_after(each).min(last);
                    }
                    if let Some(on_progress) = &mut on_progress {
                        on_progress(value);
                    }
                }
            }
        }
    }
}

/// Says until when the caller waits, unless something before it says less.
pub(crate) fn limit(call: &mut Call, until: Instant) {
    call.cx.deadline = Some(call.cx.deadline.map_or(until, |earlier| earlier.min(until)));
}

pub(crate) type OnProgress = Box<dyn FnMut(Json) + Send>;

impl Service for Peer {
    fn call(&self, call: &Call) -> ReplyFuture {
        match &self.remote {
            Some(remote) => remote.call(call),
            None => ReplyFuture::ready(absent()),
        }
    }
}

impl Remote for Peer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        match &self.remote {
            Some(remote) => remote.batch(calls),
            None => {
                let replies = calls.iter().map(|_| absent()).collect();
                Box::pin(std::future::ready(replies))
            }
        }
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        match &self.remote {
            Some(remote) => remote.closed(),
            None => Box::pin(std::future::ready(nobody())),
        }
    }
}

fn absent() -> Reply {
    Reply::error(nobody().into())
}

fn nobody() -> CallError {
    CallError::Unsupported("the caller cannot be called back over this transport".into())
}

impl From<Router> for Peer {
    fn from(router: Router) -> Peer {
        Peer::local(router)
    }
}

impl From<Layered> for Peer {
    fn from(service: Layered) -> Peer {
        Peer::local(service)
    }
}

impl<S: Service + ?Sized> From<Arc<S>> for Peer {
    fn from(service: Arc<S>) -> Peer {
        Peer::local(service)
    }
}

impl<F> From<ServiceFn<F>> for Peer
where
    F: Fn(&Call) -> ReplyFuture + Send + Sync + 'static,
{
    fn from(service: ServiceFn<F>) -> Peer {
        Peer::local(service)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("is_absent", &self.remote.is_none()).finish_non_exhaustive()
    }
}

/// A service of this process as a remote.
struct Local<S>(S);

impl<S: Service> Service for Local<S> {
    fn call(&self, call: &Call) -> ReplyFuture {
        match call.cx.arrived() {
            Some(cx) => self.0.call(&call.clone().with_context(cx)),
            None => self.0.call(call),
        }
    }
}

impl<S: Service> Remote for Local<S> {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let replies: Vec<_> = calls.iter().map(|call| self.call(call)).collect();
        Box::pin(join_all(replies))
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}
