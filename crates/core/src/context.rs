//! The context of a call: its caller, its origin and its deadline.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use tokio::time::Instant;

use crate::extensions::Extensions;
use crate::metadata::{AllowedNames, Metadata};
use crate::name::Name;
use crate::peer::Peer;
use crate::session::Session;
use crate::trace::{TRACEPARENT, TraceContext};

/// What is known about a call besides its method and parameters.
///
/// Cheap to clone. The [session](Context::session) is shared by all its calls; metadata, deadline and extensions belong to the
/// one call.
pub struct Context {
    session: Session,
    /// The peer to call back while this call runs, if not the peer of the session.
    peer: Option<Arc<Peer>>,
    metadata: Metadata,
    extensions: Extensions,
    /// Who makes the call. Told by a layer that only borrows the call, so that nothing is copied for it.
    caller: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// The span of the call. Told by an observer, which only borrows the call.
    trace: OnceLock<TraceContext>,
    /// The name that observers see. Told by a service that only borrows the call.
    observed_as: OnceLock<Arc<Name>>,
    /// When the caller stops waiting, if it said so.
    pub deadline: Option<Instant>,
    /// Which version of the protocol the call was written in.
    pub version: Version,
}

/// The metadata to be sent with a call; among the extensions of its context.
#[derive(Clone, Default)]
struct Outgoing(Metadata);

/// The metadata of the call that a call is made for; among the extensions of its context.
#[derive(Clone, Default)]
pub(crate) struct Inherited(pub(crate) Metadata);

/// The connection that calls come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Origin {
    /// The name of the transport, such as `http`.
    pub transport: &'static str,
    /// The caller's network address, if it has one.
    pub address: Option<SocketAddr>,
    /// What else the transport knows about the caller; every call's context starts with these values.
    pub extensions: Extensions,
}

/// A version of JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Version {
    /// JSON-RPC 1.0, recognised by the absence of a `jsonrpc` member.
    V1,
    /// JSON-RPC 2.0.
    #[default]
    V2,
}

impl Context {
    /// The context of calls from this origin.
    #[must_use]
    pub fn new(origin: Origin) -> Context {
        Context::from(Session::new(origin))
    }

    /// The session that the call belongs to.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Where the call comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.session.origin()
    }

    /// The caller, to call back. If the transport cannot do this, calls fail with
    /// [`CallError::Unsupported`](crate::CallError::Unsupported).
    #[must_use]
    pub fn peer(&self) -> &Peer {
        self.peer.as_deref().unwrap_or_else(|| self.session.peer())
    }

    /// Sets the peer to call back.
    #[must_use]
    pub fn with_peer(mut self, peer: Peer) -> Context {
        self.peer = Some(Arc::new(peer));
        self
    }

    /// Moves the context to this session.
    #[must_use]
    pub fn with_session(mut self, session: Session) -> Context {
        self.session = session;
        self.peer = None;
        self
    }

    /// The metadata received with the call: HTTP headers, the headers of a message queue, or a member of the message.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Replaces the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Context {
        self.metadata = metadata;
        self
    }

    /// The metadata, mutable.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// Adds metadata to send when the call is made to a peer. See [`Request::metadata`](crate::Request::metadata).
    pub fn send_metadata(&mut self, name: &str, value: impl Into<Bytes>) {
        let mut outgoing = self.get::<Outgoing>().cloned().unwrap_or_default();
        outgoing.0.insert(name, value);
        self.insert(outgoing);
    }

    /// Sends the context of this span with the call when it is made to a peer, instead of another.
    pub fn send_trace(&mut self, span: TraceContext) {
        let outgoing = self.get::<Outgoing>().map_or_else(Metadata::default, |outgoing| outgoing.0.clone());
        self.insert(Outgoing(span.instead(&outgoing)));
    }

    /// The metadata to send when the call is made to a peer, for transports: the entries to be
    /// [sent](Context::send_metadata), and those received with the call that `inherit` allows.
    #[must_use]
    pub fn outgoing_metadata(&self, inherit: &AllowedNames) -> Metadata {
        let inherited = match (self.get::<Inherited>(), self.trace.get()) {
            (Some(inherited), _) => inherited.0.select(inherit),
            (None, Some(trace)) if inherit.contains(TRACEPARENT) => {
                trace.instead(&self.metadata.select(inherit))
            }
            (None, _) => self.metadata.select(inherit),
        };
        let Some(Outgoing(given)) = self.get() else { return inherited };
        let rest = inherited.entries().into_iter().filter(|(name, _)| given.get(name).is_none());
        let rest: Metadata = rest.map(|(name, value)| (name, Bytes::copy_from_slice(value))).collect();
        given.and(&rest)
    }

    /// Makes what may go on with the call all that is sent with it, and forgets the rest.
    pub(crate) fn forward_metadata(&mut self, allowed: &AllowedNames) {
        let selected = self.outgoing_metadata(allowed);
        self.metadata = Metadata::default();
        let is_told = self.get::<Outgoing>().is_some() || self.get::<Inherited>().is_some();
        // Then nothing would be sent in any case.
        if selected.is_empty() && !is_told && self.trace.get().is_none() {
            return;
        }
        self.insert(Outgoing(selected));
        self.insert(Inherited::default());
    }

    /// The context that a service of this process has of a call that is made with this one: what was to be sent has arrived.
    pub(crate) fn arrived(&self) -> Option<Context> {
        let (given, inherited) = (self.get::<Outgoing>(), self.get::<Inherited>());
        if given.is_none() && inherited.is_none() {
            return None;
        }
        let mut cx = self.clone();
        cx.metadata = match inherited {
            Some(_) => self.outgoing_metadata(&AllowedNames::default()),
            None => given.map_or_else(Metadata::default, |given| given.0.and(&self.metadata)),
        };
        cx.insert(Outgoing::default());
        cx.insert(Inherited::default());
        Some(cx)
    }

    /// The value of this type that a layer or the transport attached.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Who makes the call, if a layer has found out and says it with a value of this type.
    #[must_use]
    pub fn caller<T: 'static>(&self) -> Option<&T> {
        self.caller.get()?.downcast_ref()
    }

    /// Says who makes the call, to inner layers, the handler and the observer.
    ///
    /// # Errors
    ///
    /// Returns the caller if one was named already: the first one counts.
    pub fn identify<T: Send + Sync + 'static>(&self, caller: Arc<T>) -> Result<(), Arc<T>> {
        if self.caller.get().is_some() {
            return Err(caller);
        }
        self.caller.set(caller).map_err(|caller| caller.downcast().expect("it comes back as it was given"))
    }

    /// Replaces the caller.
    pub fn set_caller<T: Send + Sync + 'static>(&mut self, caller: Arc<T>) {
        self.caller = OnceLock::from(caller as Arc<dyn Any + Send + Sync>);
    }

    /// The span of the call in a distributed trace, if an observer has begun one. Calls that are made for this one continue it.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        self.trace.get().copied()
    }

    /// Begins the span of the call, for [observers](crate::observer::Observer). False if that was done already: the first one counts.
    pub fn begin_trace(&self, span: TraceContext) -> bool {
        self.trace.set(span).is_ok()
    }

    /// Replaces the span of the call. Calls that are made for this one continue its trace.
    pub fn set_trace(&mut self, span: TraceContext) {
        self.trace = OnceLock::from(span);
    }

    /// Has [observers](crate::observer::Observer) see the call as one of this method: the one that it is about, where a protocol has one
    /// method to call others with. The first name counts.
    pub fn observe_as(&self, method: Name) {
        let _ = self.observed_as.set(Arc::new(method));
    }

    /// The method that observers see, if a service has [said](Context::observe_as) so.
    #[inline]
    pub(crate) fn observed_as(&self) -> Option<&Name> {
        self.observed_as.get().map(|method| &**method)
    }

    /// The metadata for calls that are made for this one.
    pub(crate) fn inheritable(&self) -> Metadata {
        self.trace.get().map_or_else(|| self.metadata.clone(), |trace| trace.instead(&self.metadata))
    }

    /// Whether nothing was said about its call that was not said about this context.
    #[inline(always)]
    pub(crate) fn is_as_new(&self, other: &Context) -> bool {
        self.trace.get().is_none() && self.observed_as.get().is_none() && self.has_caller_of(other)
    }

    /// Whether it has no other caller than this context.
    #[inline(always)]
    pub(crate) fn has_caller_of(&self, other: &Context) -> bool {
        match (self.caller.get(), other.caller.get()) {
            (None, _) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// All values that a layer or the transport attached.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Attaches a value for the inner layers and the handler.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.extensions.insert(value);
    }
}

impl Clone for Context {
    #[inline(always)]
    fn clone(&self) -> Context {
        // Seldom set when calls are made from it, which copies of the locks would not know.
        let caller =
            self.caller.get().map_or_else(OnceLock::new, |caller| OnceLock::from(Arc::clone(caller)));
        let trace = self.trace.get().map_or_else(OnceLock::new, |trace| OnceLock::from(*trace));
        let observed_as =
            self.observed_as.get().map_or_else(OnceLock::new, |method| OnceLock::from(Arc::clone(method)));
        Context {
            session: self.session.clone(),
            peer: self.peer.clone(),
            metadata: self.metadata.clone(),
            extensions: self.extensions.clone(),
            caller,
            trace,
            observed_as,
            deadline: self.deadline,
            version: self.version,
        }
    }
}

impl From<Session> for Context {
    fn from(session: Session) -> Context {
        let extensions = session.origin().extensions.clone();
        let metadata = Metadata::default();
        Context {
            session,
            peer: None,
            metadata,
            extensions,
            caller: OnceLock::new(),
            trace: OnceLock::new(),
            observed_as: OnceLock::new(),
            deadline: None,
            version: Version::V2,
        }
    }
}

impl From<Origin> for Context {
    fn from(origin: Origin) -> Context {
        Context::new(origin)
    }
}

impl Default for Context {
    /// A call made inside the process, from nowhere in particular.
    fn default() -> Context {
        static INSIDE: LazyLock<Session> = LazyLock::new(|| Session::shared(Origin::default()));
        Context::from(INSIDE.clone())
    }
}

impl Origin {
    /// An origin over this transport, without a peer to call back.
    #[must_use]
    pub fn new(transport: &'static str) -> Origin {
        Origin { transport, address: None, extensions: Extensions::default() }
    }

    /// Sets the address.
    #[must_use]
    pub fn with_address(mut self, address: SocketAddr) -> Origin {
        self.address = Some(address);
        self
    }

    /// Adds a value to every call's context, see [`Context::get`].
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Origin {
        self.extensions.insert(value);
        self
    }
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::new("inside")
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("transport", &self.origin().transport)
            .field("address", &self.origin().address)
            .field("deadline", &self.deadline)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
