//! An MCP server as an upstream: its tools, resources and prompts are methods.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use switchboard::gateway::Link;
use switchboard::mcp::Connector;
use switchboard::mcp::adapt::{Methods, Sessions};
use switchboard::{
    Call, CallError, Describe, Dial, Dialect, ErrorObject, MethodDescription, ReplyFuture, Schemas, Service,
};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::pins::Pinned;
use crate::target::is_http;

/// The pause before another attempt to connect: at first, and at most.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How often a server is asked for its lists, even if it does not say that they have changed.
const AGAIN: Duration = Duration::from_secs(60);

/// An MCP server that is connected to in the background, however long that takes. Cheap to clone.
///
/// One connection describes its methods, and takes the calls of clients that keep no session. Clients that do have their own sessions,
/// if that is wanted.
#[derive(Clone)]
pub(super) struct McpServer(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    connecting: AbortHandle,
    is_http: bool,
    sessions: Option<Sessions>,
}

/// How to connect to an MCP server.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) dial: Dial,
    /// Ends connections of clients that do not use them.
    pub(super) link: Link,
    /// The upstream that it belongs to.
    pub(super) name: Arc<str>,
    /// Decides which tools are offered.
    pub(super) pinned: Option<Arc<Pinned>>,
}

impl Reach {
    fn is_http(&self) -> bool {
        is_http(self.dial.url().scheme())
    }

    async fn connect(self, connector: Connector) -> Result<Methods, CallError> {
        let Reach { dial, link, pinned, .. } = self.clone();
        let client = match self.is_http() {
            true => connector.dial(dial).await?,
            false => connector.over(link.connector(dial)).await?,
        };
        match pinned {
            Some(pinned) => Methods::approved(&client, pinned).await,
            None => Methods::of(&client).await,
        }
    }
}

type OnUpdate = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct Shared {
    methods: ArcSwapOption<Methods>,
    changes: watch::Sender<()>,
    /// A client heard in its own session that the lists have changed.
    is_outdated: Notify,
    on_update: OnceLock<OnUpdate>,
    /// Why there is no connection yet.
    failed: watch::Sender<Option<String>>,
}

impl McpServer {
    /// Connects, and with `is_per_client` once more for each client that keeps a session.
    pub(super) fn start(reach: Reach, is_per_client: bool) -> McpServer {
        let (shared, is_http) = (Arc::<Shared>::default(), reach.is_http());
        // It has to be there when tools change, so it does not end.
        let link = reach.link.clone().with_idle(None).with_lifetime(None);
        let lasting = Reach { link, ..reach.clone() };
        let connecting = tokio::spawn(follow(lasting, Arc::clone(&shared))).abort_handle();
        let told = Arc::downgrade(&shared);
        let begin = move |connector| {
            let (reach, told) = (reach.clone(), told.clone());
            async move {
                let methods = reach.connect(connector).await?;
                if let Some(shared) = told.upgrade()
                    && shared.methods.load().as_ref().is_some_and(|known| !known.is_listed_like(&methods))
                {
                    shared.is_outdated.notify_one();
                }
                methods.on_change(move || {
                    if let Some(shared) = told.upgrade() {
                        shared.is_outdated.notify_one();
                    }
                });
                Ok(methods)
            }
        };
        let sessions = is_per_client.then(|| Sessions::new(begin));
        McpServer(Arc::new(Inner { shared, connecting, is_http, sessions }))
    }

    /// Waits for the first attempt to connect.
    pub(super) async fn ready(&self) -> Result<(), String> {
        let shared = &self.0.shared;
        let (mut changes, mut failed) = (shared.changes.subscribe(), shared.failed.subscribe());
        loop {
            if shared.methods.load().is_some() {
                return Ok(());
            }
            if let Some(reason) = &*failed.borrow_and_update() {
                return Err(reason.clone());
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = failed.changed() => {}
            }
        }
    }

    /// Asks whether it is there, over the connection that lists its tools.
    pub(super) async fn ping(&self) -> Result<(), String> {
        let shared = &self.0.shared;
        let Some(methods) = shared.methods.load_full() else {
            let reason = shared.failed.borrow().clone();
            return Err(reason.unwrap_or_else(|| "not connected yet".to_owned()));
        };
        methods.client().ping().await.map_err(|error| error.to_string())
    }

    /// Whether both are clones of one server.
    pub(super) fn is_same(&self, other: &McpServer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Tells when its methods have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.shared.changes.subscribe()
    }

    /// Whether a method is a tool, and whether that has an output schema.
    pub(super) fn has_output(&self, method: &str) -> Option<bool> {
        self.0.shared.methods.load().as_ref()?.has_output(method)
    }

    /// Calls this function with the URI of a resource that has changed.
    pub(super) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.0.shared.on_update.set(Box::new(update));
    }

    /// Whether a method can be called twice without harm.
    pub(super) fn is_safe(&self, method: &str) -> bool {
        let methods = self.describe_in(Dialect::default()).methods;
        methods.iter().any(|known| known.name == method && (known.marks.safe || known.marks.idempotent))
    }
}

async fn follow(reach: Reach, shared: Arc<Shared>) {
    let mut pause = FIRST;
    let methods = loop {
        match reach.clone().connect(Connector::default()).await {
            Ok(methods) => break methods,
            Err(error) => {
                tracing::warn!(upstream = &*reach.name, %error, "cannot connect to the MCP server");
                shared.failed.send_replace(Some(error.to_string()));
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    };
    let changed = Arc::downgrade(&shared);
    methods.on_change(move || {
        if let Some(shared) = changed.upgrade() {
            shared.changes.send_replace(());
        }
    });
    let updated = Arc::downgrade(&shared);
    methods.on_update(move |uri| {
        if let Some(update) = updated.upgrade().as_ref().and_then(|shared| shared.on_update.get()) {
            update(uri);
        }
    });
    shared.methods.store(Some(Arc::new(methods.clone())));
    shared.changes.send_replace(());
    let mut approvals = reach.pinned.as_ref().map(|pinned| pinned.changes());
    loop {
        let approved = async {
            match &mut approvals {
                Some(approvals) => approvals.changed().await.is_ok(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            true = approved => { shared.changes.send_replace(()); }
            _ = tokio::time::timeout(AGAIN, shared.is_outdated.notified()) => {
                if let Err(error) = methods.refresh().await {
                    tracing::debug!(%error, "the MCP server did not list its tools again");
                }
            }
        }
    }
}

impl Service for McpServer {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Inner { shared, sessions, is_http, .. } = &*self.0;
        let methods = shared.methods.load();
        // A server over HTTP whose requests stand alone keeps nothing between them.
        let has_sessions =
            !is_http || methods.as_ref().is_none_or(|known| !known.client().revision().is_stateless());
        match (sessions, &*methods) {
            (Some(sessions), _) if has_sessions && call.cx.session().is_exclusive() => sessions.call(call),
            (_, Some(methods)) => methods.call(call),
            (_, None) => {
                let error = CallError::Unreachable("the MCP server is not connected yet".into());
                ReplyFuture::ready(ErrorObject::from(error))
            }
        }
    }
}

impl Describe for McpServer {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        let methods = self.0.shared.methods.load();
        methods.iter().flat_map(|methods| methods.describe_methods(schemas)).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.connecting.abort();
    }
}
