//! An agent as an upstream, over Agent2Agent (A2A): its skills are methods.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use switchboard::a2a::adapt::Methods;
use switchboard::a2a::{Client, ClientOptions};
use switchboard::{Call, CallError, Describe, ErrorObject, MethodDescription, ReplyFuture, Schemas, Service};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The pause before another attempt to connect: at first, and at most.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How often the card is read again.
const AGAIN: Duration = Duration::from_secs(60);

/// An agent whose card is read in the background, however long that takes. Cheap to clone.
#[derive(Clone)]
pub(super) struct A2aServer(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    reading: AbortHandle,
}

/// Where the card of an agent is.
pub(super) struct Reach {
    pub(super) url: String,
    pub(super) options: ClientOptions,
    /// The upstream that it belongs to.
    pub(super) name: Arc<str>,
}

#[derive(Default)]
struct Shared {
    methods: ArcSwapOption<Methods>,
    changes: watch::Sender<()>,
    /// Why the card could not be read yet.
    failed: watch::Sender<Option<String>>,
}

impl A2aServer {
    pub(super) fn start(reach: Reach) -> A2aServer {
        let shared = Arc::<Shared>::default();
        let reading = tokio::spawn(follow(reach, Arc::clone(&shared))).abort_handle();
        A2aServer(Arc::new(Inner { shared, reading }))
    }

    /// Waits for the first attempt to read the card.
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

    /// Tells when its skills have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.shared.changes.subscribe()
    }
}

/// Reads the card now and then.
async fn follow(reach: Reach, shared: Arc<Shared>) {
    let mut pause = FIRST;
    loop {
        match Client::with_options(&reach.url, reach.options.clone()).await {
            Ok(client) => {
                let methods = Methods::of(&client);
                let known = shared.methods.load();
                if known.as_ref().is_none_or(|known| known.client().card() != client.card()) {
                    shared.methods.store(Some(Arc::new(methods)));
                    shared.changes.send_replace(());
                }
                pause = AGAIN;
            }
            Err(error) => {
                tracing::warn!(upstream = &*reach.name, %error, "cannot read the card of the agent");
                shared.failed.send_replace(Some(error.to_string()));
                pause = if pause == AGAIN { FIRST } else { (pause * 2).min(LONGEST) };
            }
        }
        tokio::time::sleep(pause).await;
    }
}

impl Service for A2aServer {
    fn call(&self, call: &Call) -> ReplyFuture {
        match &*self.0.shared.methods.load() {
            Some(methods) => methods.call(call),
            None => {
                let error = CallError::Unreachable("the card of the agent was not read yet".into());
                ReplyFuture::ready(ErrorObject::from(error))
            }
        }
    }
}

impl Describe for A2aServer {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        let methods = self.0.shared.methods.load();
        methods.iter().flat_map(|methods| methods.describe_methods(schemas)).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
