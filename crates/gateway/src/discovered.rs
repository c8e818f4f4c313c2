//! What a server says about its methods.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use switchboard_core::{Call, ErrorObject, MethodDescription, Name, Peer, Service, Subscription};
use switchboard_layers::access::Pattern;
use switchboard_openrpc::Document;
use switchboard_openrpc::remote::{self, Calling, Form, RemoteError, by_name, by_position};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::route::ParamsForm;

/// How long to wait before a server that did not describe itself is asked again: at first, and at most.
const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(60);

/// The description of a server, read from the server itself and kept up to date, or from a document. Cheap to clone.
#[derive(Clone)]
pub struct Discovered(Arc<Inner>);

/// Why a method can be called twice without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Safety<'a> {
    /// This pattern lists it.
    Listed(&'a Pattern),
    /// The description of the server marks it.
    Described,
}

struct Inner {
    known: Arc<Known>,
    safe: Vec<Pattern>,
    /// Asks for the description, unless it was given.
    asking: Option<(Peer, AbortHandle)>,
}

#[derive(Default)]
struct Known {
    described: ArcSwap<Described>,
    /// Told when the methods are others than before.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct Described {
    document: Document,
    methods: Vec<MethodDescription>,
    calling: HashMap<String, Calling>,
}

impl Described {
    fn new(document: Document) -> Described {
        let calling = document.methods().map(|method| (method.name.clone(), Calling::of(method)));
        let calling = calling.collect();
        let methods = remote::describe(&document, Form::Inlined).methods.into_iter();
        // Extensions of the protocol are about the server that is called, which is the gateway.
        let methods = methods.filter(|method| !method.name.starts_with("rpc.")).collect();
        Described { methods, calling, document }
    }
}

impl Known {
    /// Keeps a new description.
    fn learn(&self, document: Document) {
        if self.described.load().document != document {
            self.described.store(Arc::new(Described::new(document)));
            self.changes.send_replace(());
        }
    }
}

impl Discovered {
    /// Asks a server for its description, again and again until it answers, and then every minute. These methods are safe to call
    /// twice, besides those that the description marks.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn watch(server: impl Service, safe: Vec<Pattern>) -> Discovered {
        let (known, peer) = (Arc::<Known>::default(), Peer::local(server));
        let task = tokio::spawn(follow(peer.clone(), Arc::clone(&known))).abort_handle();
        Discovered(Arc::new(Inner { known, safe, asking: Some((peer, task)) }))
    }

    /// The description in a document.
    ///
    /// # Errors
    ///
    /// When a reference of the document cannot be resolved.
    pub fn from_document(document: Document, safe: Vec<Pattern>) -> Result<Discovered, RemoteError> {
        let known = Arc::<Known>::default();
        known.learn(document.resolved()?);
        Ok(Discovered(Arc::new(Inner { known, safe, asking: None })))
    }

    /// Asks the server now. A given document stays.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or does not describe itself. Then the old description stays.
    pub async fn refresh(&self) -> Result<(), RemoteError> {
        match &self.0.asking {
            Some((peer, _)) => refresh(peer, &self.0.known).await,
            None => Ok(()),
        }
    }

    /// Tells when the methods have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.known.changes.subscribe()
    }

    /// The names of the methods that it describes.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.0.known.described.load().methods.iter().map(|method| method.name.clone()).collect()
    }

    pub(crate) fn describe(&self) -> Vec<MethodDescription> {
        self.0.known.described.load().methods.clone()
    }

    /// Whether a method can be called twice without harm.
    #[must_use]
    pub fn is_safe(&self, method: &str) -> bool {
        self.safety(method).is_some()
    }

    /// Why a method can be called twice without harm, if it can.
    #[must_use]
    pub fn safety(&self, method: &str) -> Option<Safety<'_>> {
        if let Some(pattern) = self.0.safe.iter().find(|pattern| pattern.matches(method)) {
            return Some(Safety::Listed(pattern));
        }
        let known = self.0.known.described.load();
        let marks = known.calling.get(method).map(|calling| &calling.marks)?;
        (marks.safe || marks.idempotent).then_some(Safety::Described)
    }

    /// Whether a method answers with a stream, by its description or by its name.
    #[must_use]
    pub fn is_stream(&self, method: &Name) -> bool {
        let known = self.0.known.described.load();
        let is_described = known.calling.get(method.as_str()).is_some_and(|calling| calling.is_stream);
        is_described || Subscription::by_name(method).is_some()
    }

    /// Whether a method is described as a subscription, or as a stream that can be opened without harm.
    #[must_use]
    pub fn is_subscription(&self, method: &Name) -> bool {
        let known = self.0.known.described.load();
        let Some(calling) = known.calling.get(method.as_str()) else { return false };
        calling.subscription.is_some()
            || calling.is_stream && (calling.marks.safe || calling.marks.idempotent)
    }

    /// Passes the params of a call in this form, if the parameters of its method are known.
    pub(crate) fn convert(&self, call: &mut Call, form: ParamsForm) -> Result<(), ErrorObject> {
        let known = self.0.known.described.load();
        let Some(calling) =
            known.calling.get(call.method.as_str()).filter(|calling| !calling.has_unknown_params)
        else {
            return Ok(());
        };
        match (form, call.params.take()) {
            (ParamsForm::Positional, Some(params)) => call.params = by_position(&params, &calling.slots)?,
            (ParamsForm::Named, Some(params)) => call.params = Some(by_name(Some(&params), &calling.slots)?),
            (_, None) => {}
        }
        Ok(())
    }

    /// Whether a method takes params only by position.
    pub(crate) fn takes_only_positions(&self, method: &Name) -> bool {
        self.0
            .known
            .described
            .load()
            .calling
            .get(method.as_str())
            .is_some_and(|calling| calling.is_by_position)
    }

    /// The names of the stream of a method that opens a subscription, as the server describes them.
    #[must_use]
    pub fn stream_names(&self, method: &Name) -> Option<Arc<Subscription>> {
        self.0.known.described.load().calling.get(method.as_str())?.subscription.clone()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.asking {
            task.abort();
        }
    }
}

async fn refresh(peer: &Peer, known: &Known) -> Result<(), RemoteError> {
    known.learn(remote::read(peer).await?);
    Ok(())
}

async fn follow(peer: Peer, known: Arc<Known>) {
    let mut wait = SOON;
    loop {
        wait = match refresh(&peer, &known).await {
            // A server without a description may get one when it is replaced.
            Ok(()) | Err(RemoteError::Undescribed) => LATE,
            Err(_) => (wait * 2).min(LATE),
        };
        tokio::time::sleep(wait).await;
    }
}

impl fmt::Debug for Discovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovered").field("safe", &self.0.safe).finish_non_exhaustive()
    }
}
