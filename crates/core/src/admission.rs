//! Decides whether a session or a request is accepted, before its messages are read.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use crate::context::Context;
use crate::error::ErrorObject;
use crate::metadata::Metadata;

/// Decides whether a session or a request is accepted. It runs when a session opens, before the body of an HTTP request is read,
/// and before a request is upgraded to a WebSocket. Layers and handlers see what it attaches to the context.
///
/// It sees the address, the identity that TLS or a Unix socket proved, and the headers: see [`Context::origin`],
/// [`Context::get`] and [`Context::metadata`].
///
/// # Examples
///
/// ```
/// use switchboard_core::{AdmitFuture, Admission, Arrival, Code, ErrorObject, Refusal, Settings};
///
/// struct Secret;
///
/// impl Admission for Secret {
///     fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
///         let is_known = arrival.cx().metadata().get("x-key") == Some(b"secret");
///         if is_known || !arrival.is_request() {
///             return AdmitFuture::admitted(arrival.cx().clone());
///         }
///         let error = ErrorObject::from_code(Code::UNAUTHORIZED);
///         AdmitFuture::refused(Refusal::new(error).with_status(401))
///     }
/// }
///
/// let settings = Settings::default().with_admission(Some(Secret.into()));
/// ```
pub trait Admission: Send + Sync + 'static {
    /// Decides about one arrival. A decision that takes longer than [`call_time`](crate::Limits::call_time) counts as a refusal.
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture;
}

/// A session or a request to accept or refuse.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Arrival<'a> {
    /// A new session: a connection after its TLS handshake, if it has one. A WebSocket arrives as a request first.
    Session(&'a Context),
    /// An HTTP request that has passed the checks of `Host` and `Origin`.
    #[non_exhaustive]
    Request {
        /// Its context, with its headers as metadata.
        cx: &'a Context,
        /// The HTTP method.
        method: &'a str,
        /// The path, without a query.
        path: &'a str,
        /// Whether it asks for an upgrade to a WebSocket.
        is_upgrade: bool,
    },
}

impl<'a> Arrival<'a> {
    /// An HTTP request; for transports.
    #[must_use]
    pub fn request(cx: &'a Context, method: &'a str, path: &'a str, is_upgrade: bool) -> Arrival<'a> {
        Arrival::Request { cx, method, path, is_upgrade }
    }

    /// Its context.
    #[must_use]
    pub fn cx(&self) -> &'a Context {
        match self {
            Arrival::Session(cx) | Arrival::Request { cx, .. } => cx,
        }
    }

    /// Whether it is an HTTP request rather than a session.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Arrival::Request { .. })
    }
}

/// Why a session or a request is refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The error to respond with.
    pub error: ErrorObject,
    /// The HTTP status of the response; 403 if there is none.
    pub status: Option<u16>,
    /// Headers of the HTTP response, as far as the transport allows them.
    pub metadata: Metadata,
}

impl Refusal {
    /// A refusal with this error.
    #[must_use]
    pub fn new(error: ErrorObject) -> Refusal {
        Refusal { error, status: None, metadata: Metadata::default() }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Refusal {
        self.status = Some(status);
        self
    }

    /// Adds an HTTP header.
    #[must_use]
    pub fn with_metadata(mut self, name: &str, value: impl Into<bytes::Bytes>) -> Refusal {
        self.metadata.insert(name, value);
        self
    }
}

/// A decision, made or pending. It returns the context to use from here on.
pub struct AdmitFuture(AdmitFutureState);

enum AdmitFutureState {
    Ready(Option<Result<Context, Refusal>>),
    Pending(PendingDecision),
}

/// A decision that is not made yet.
pub(crate) type PendingDecision = Pin<Box<dyn Future<Output = Result<Context, Refusal>> + Send>>;

impl AdmitFuture {
    /// Accepts it, with this context.
    #[must_use]
    pub fn admitted(cx: Context) -> AdmitFuture {
        AdmitFuture(AdmitFutureState::Ready(Some(Ok(cx))))
    }

    /// Refuses it.
    #[must_use]
    pub fn refused(refusal: Refusal) -> AdmitFuture {
        AdmitFuture(AdmitFutureState::Ready(Some(Err(refusal))))
    }

    /// Decides later.
    #[must_use]
    pub fn pending(decision: impl Future<Output = Result<Context, Refusal>> + Send + 'static) -> AdmitFuture {
        AdmitFuture(AdmitFutureState::Pending(Box::pin(decision)))
    }

    /// The decision as this function changes it, for admissions around others.
    #[must_use]
    pub fn map(
        self,
        change: impl FnOnce(Result<Context, Refusal>) -> Result<Context, Refusal> + Send + 'static,
    ) -> AdmitFuture {
        AdmitFuture(match self.into_ready() {
            Ok(decision) => AdmitFutureState::Ready(Some(change(decision))),
            Err(pending) => AdmitFutureState::Pending(Box::pin(async move { change(pending.await) })),
        })
    }

    /// The decision, if it is made.
    pub(crate) fn into_ready(self) -> Result<Result<Context, Refusal>, PendingDecision> {
        match self.0 {
            AdmitFutureState::Ready(decision) => Ok(decision.expect("it is polled until it is ready")),
            AdmitFutureState::Pending(pending) => Err(pending),
        }
    }
}

impl Future for AdmitFuture {
    type Output = Result<Context, Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            AdmitFutureState::Ready(decision) => {
                Poll::Ready(decision.take().expect("it is polled until it is ready"))
            }
            AdmitFutureState::Pending(decision) => decision.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for AdmitFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdmitFuture(..)")
    }
}

/// A shared [`Admission`]. Any admission converts into it with `into()`.
#[derive(Clone)]
pub struct SharedAdmission(Arc<dyn Admission>);

impl<A: Admission> From<A> for SharedAdmission {
    fn from(admission: A) -> SharedAdmission {
        SharedAdmission(Arc::new(admission))
    }
}

impl<A: Admission> From<Arc<A>> for SharedAdmission {
    fn from(admission: Arc<A>) -> SharedAdmission {
        SharedAdmission(admission)
    }
}

impl Deref for SharedAdmission {
    type Target = dyn Admission;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedAdmission(..)")
    }
}
