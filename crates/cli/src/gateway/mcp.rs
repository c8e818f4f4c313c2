//! An MCP server as an upstream: its tools, resources and prompts are methods.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use switchboard::mcp::Client;
use switchboard::mcp::adapt::Methods;
use switchboard::{
    Call, CallError, Describe, Dial, Dialect, ErrorObject, MethodDescription, ReplyFuture, Schemas, Service,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The pause before another attempt to connect: at first, and at most.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// An MCP server that is connected to in the background, however long that takes. Cheap to clone.
#[derive(Clone)]
pub(super) struct McpServer(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    connecting: AbortHandle,
}

#[derive(Default)]
struct Shared {
    methods: ArcSwapOption<Methods>,
    changes: watch::Sender<()>,
    /// Why there is no connection yet.
    failed: watch::Sender<Option<String>>,
}

impl McpServer {
    pub(super) fn start(dial: Dial) -> McpServer {
        let shared = Arc::<Shared>::default();
        let connecting = tokio::spawn(connect(dial, Arc::clone(&shared))).abort_handle();
        McpServer(Arc::new(Inner { shared, connecting }))
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

    /// Tells when its methods have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.shared.changes.subscribe()
    }

    /// Whether a method can be called twice without harm.
    pub(super) fn is_safe(&self, method: &str) -> bool {
        let methods = self.describe_in(Dialect::default()).methods;
        methods.iter().any(|known| known.name == method && (known.marks.safe || known.marks.idempotent))
    }
}

async fn connect(dial: Dial, shared: Arc<Shared>) {
    let mut pause = FIRST;
    loop {
        let connected = async { Methods::of(&Client::dial(dial.clone()).await?).await };
        match connected.await {
            Ok(methods) => {
                let changed = Arc::downgrade(&shared);
                methods.on_change(move || {
                    if let Some(shared) = changed.upgrade() {
                        shared.changes.send_replace(());
                    }
                });
                shared.methods.store(Some(Arc::new(methods)));
                shared.changes.send_replace(());
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot connect to the MCP server");
                shared.failed.send_replace(Some(error.to_string()));
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

impl Service for McpServer {
    fn call(&self, call: &Call) -> ReplyFuture {
        match &*self.0.shared.methods.load() {
            Some(methods) => methods.call(call),
            None => {
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
