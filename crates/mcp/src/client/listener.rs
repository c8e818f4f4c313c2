//! What the server sends by itself: changes of its lists, and pings.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use switchboard_core::{Call, ErrorObject, Json, Peer, Reply, ReplyFuture, Service};
use tokio::task::JoinHandle;

use super::request;
use crate::model::{Revision, ServerCapabilities, methods};
use crate::object::{Object, Part};

type OnChange = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Who wants to hear of changes, and the request that asks a stateless server for them.
#[derive(Default)]
pub(crate) struct Listening {
    on_change: OnceLock<OnChange>,
    subscription: Mutex<Option<JoinHandle<()>>>,
}

impl Listening {
    /// Calls this function when the list of tools has changed. The first one counts.
    pub(crate) fn on_change<R>(&self, change: impl Fn() -> R + Send + Sync + 'static)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let _ = self.on_change.set(Box::new(move || Box::pin(change())));
    }

    /// Asks for notifications over a new connection, where that is necessary.
    pub(super) fn begin(&self, peer: &Peer, capabilities: &ServerCapabilities, revision: Revision) {
        let has_changes = capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed);
        if !revision.is_stateless() || !has_changes {
            return;
        }
        let wanted = Object::new().with("notifications", Object::new().with("toolsListChanged", Part::True));
        let Ok(call) = request(methods::LISTEN, wanted, revision) else { return };
        let peer = peer.clone();
        // It ends with the connection.
        let task = tokio::spawn(async move { drop(Service::call(&peer, &call).await) });
        self.replace(Some(task));
    }

    fn replace(&self, task: Option<JoinHandle<()>>) {
        let mut subscription = self.subscription.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *subscription, task) {
            old.abort();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.replace(None);
    }
}

/// The service that the server calls.
pub(super) struct Listener(Weak<Listening>);

impl Listener {
    pub(super) fn new(listening: &Arc<Listening>) -> Listener {
        Listener(Arc::downgrade(listening))
    }
}

impl Service for Listener {
    fn call(&self, call: &Call) -> ReplyFuture {
        match call.method.as_str() {
            methods::PING if !call.is_notification() => Object::new().reply().into(),
            methods::TOOLS_CHANGED => match self.0.upgrade() {
                Some(listening) => ReplyFuture::untimed(async move {
                    if let Some(change) = listening.on_change.get() {
                        change().await;
                    }
                    Reply::value(Json::NULL)
                }),
                None => Reply::value(Json::NULL).into(),
            },
            _ if call.is_notification() => Reply::value(Json::NULL).into(),
            other => ReplyFuture::ready(ErrorObject::method_not_found(other)),
        }
    }
}
