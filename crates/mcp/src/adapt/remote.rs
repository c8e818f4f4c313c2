//! A JSON-RPC server that describes itself, as a service.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use switchboard_core::{
    Call, Describe, Description, Dialect, ErrorObject, Forward, Kind, MethodDescription, Peer, ReplyFuture,
    Schemas, Service,
};
use switchboard_layers::access::Pattern;
use switchboard_openrpc::remote::{Calling, Form, RemoteError, by_position, describe, read};
use switchboard_openrpc::{Document, Info};

use super::rules::Rules;
use super::told;

/// A JSON-RPC server that describes itself, as a service: a [`Server`](crate::Server) makes its methods tools.
///
/// Calls are [forwarded](Forward) to the server. Methods that take parameters by position get them so. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Peer, Router};
/// use switchboard_mcp::{Server, adapt::Remote};
/// use switchboard_openrpc::{Discovery, Generator, Info};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let methods = Router::builder().method("math/add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
/// # let router = Discovery::new(Generator::new(Info::new("Adder", "1.0.0"))).build(methods)?;
/// let peer = Peer::from(router); // or `switchboard::connect(url).await?`
/// let remote = Remote::discover(peer).await?.keep("math/*".parse()?).rename("math/add", "sum");
/// let server = Server::new(remote);
/// assert_eq!(server.tools(), [("sum".to_owned(), "math/add".to_owned())]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Remote {
    shared: Arc<Shared>,
    rules: Rules,
}

/// What all clones share.
pub(super) struct Shared {
    peer: Peer,
    to: Forward,
    known: ArcSwap<Known>,
    /// Whether the document was given, so that there is none to read again.
    is_given: bool,
}

/// The document, and how its methods are called.
struct Known {
    document: Document,
    calling: HashMap<String, Calling>,
}

impl Remote {
    /// The server behind this peer, described by its `rpc.discover`.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not describe itself; then give its [document](Remote::with_document).
    pub async fn discover(peer: Peer) -> Result<Remote, RemoteError> {
        let document = read(&peer).await?;
        Ok(Remote::new(peer, document, false))
    }

    /// The server behind this peer, described by this document.
    ///
    /// # Errors
    ///
    /// When a reference of the document cannot be resolved.
    pub fn with_document(peer: Peer, document: Document) -> Result<Remote, RemoteError> {
        Ok(Remote::new(peer, document.resolved()?, true))
    }

    fn new(peer: Peer, document: Document, is_given: bool) -> Remote {
        let (to, known) = (Forward::new(peer.clone()), ArcSwap::from_pointee(Known::new(document)));
        let shared = Shared { peer, to, known, is_given };
        Remote { shared: Arc::new(shared), rules: Rules::default() }
    }

    /// Keeps methods with a matching name, in addition to those of other patterns. By default all are kept.
    #[must_use]
    pub fn keep(mut self, pattern: Pattern) -> Remote {
        self.rules.keep.push(pattern);
        self
    }

    /// Leaves out methods with a matching name.
    #[must_use]
    pub fn without(mut self, pattern: Pattern) -> Remote {
        self.rules.without.push(pattern);
        self
    }

    /// Gives the tool of a method another name.
    #[must_use]
    pub fn rename(mut self, method: impl Into<String>, name: impl Into<String>) -> Remote {
        self.rules.names.insert(method.into(), name.into());
        self
    }

    /// Gives a method another description.
    #[must_use]
    pub fn describe(mut self, method: impl Into<String>, text: impl Into<String>) -> Remote {
        self.rules.texts.insert(method.into(), text.into());
        self
    }

    /// Makes a method a resource with this URI, or a template of resources such as `prices://{symbol}`, whose variables are its
    /// parameters.
    #[must_use]
    pub fn resource(mut self, method: impl Into<String>, uri: impl Into<String>) -> Remote {
        self.rules.resources.insert(method.into(), uri.into());
        self
    }

    /// Passes parameters by position, whatever the description says: for servers that take no names.
    #[must_use]
    pub fn by_position(mut self) -> Remote {
        self.rules.by_position = true;
        self
    }

    /// Title, version and description of the server.
    #[must_use]
    pub fn info(&self) -> Info {
        self.shared.known.load().document.info.clone()
    }

    /// The names of the methods that are offered.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        let known = self.shared.known.load();
        let names = known.document.methods().map(|method| &method.name);
        names.filter(|name| self.rules.keeps(name)).cloned().collect()
    }

    /// Reads the description of the server again. A given document stays.
    ///
    /// # Errors
    ///
    /// As for [`discover`](Remote::discover). Then the old description stays.
    pub async fn refresh(&self) -> Result<(), RemoteError> {
        self.shared.refresh().await
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    fn described(&self, form: Form) -> Description {
        let mut description = describe(&self.shared.known.load().document, form);
        description.methods.iter_mut().for_each(told::name);
        if form == Form::In(Dialect::Draft2020) {
            told::tell(&mut description);
        }
        description.methods.retain(|method| self.rules.keeps(&method.name));
        description.methods.iter_mut().for_each(|method| self.rules.apply(method));
        description
    }
}

impl Shared {
    pub(super) async fn refresh(&self) -> Result<(), RemoteError> {
        if !self.is_given {
            let document = read(&self.peer).await?;
            self.known.store(Arc::new(Known::new(document)));
        }
        Ok(())
    }
}

impl Known {
    fn new(document: Document) -> Known {
        let calling = document.methods().map(|method| (method.name.clone(), Calling::of(method)));
        Known { calling: calling.collect(), document }
    }
}

impl Service for Remote {
    fn call(&self, call: &Call) -> ReplyFuture {
        let known = self.shared.known.load();
        let calling = known.calling.get(call.method.as_str());
        let Some(calling) = calling.filter(|_| self.rules.keeps(call.method.as_str())) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let mut call = call.clone();
        if let Some(names) = &calling.subscription {
            call.cx.insert(Arc::clone(names));
        }
        let is_by_position =
            calling.is_by_position || (self.rules.by_position && !calling.has_unknown_params);
        call.params = match call.params.take() {
            Some(params) if is_by_position => match by_position(&params, &calling.slots) {
                Ok(params) => params,
                Err(error) => return ReplyFuture::ready(error),
            },
            // Clients of MCP send an empty object for no arguments; many servers of JSON-RPC do not take one.
            Some(params) if params.kind() == Kind::Object && params.members().next().is_none() => None,
            params => params,
        };
        self.shared.to.call(&call)
    }
}

impl Describe for Remote {
    fn describe_methods(&self, _: &mut Schemas) -> Vec<MethodDescription> {
        self.described(Form::Inlined).methods
    }

    fn describe_in(&self, dialect: Dialect) -> Description {
        self.described(Form::In(dialect))
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("peer", &self.shared.peer).field("rules", &self.rules).finish()
    }
}
