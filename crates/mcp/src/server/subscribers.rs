//! Who hears of changes: sessions, and stateless clients that listen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::join_all;
use switchboard_core::{Json, Peer, Session};
use tokio::sync::mpsc;

use crate::model::methods;
use crate::object::Object;
use crate::spoken::Handshake;

/// A change that clients may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The resource with this URI.
    Resource(String),
    /// A task, with the params of its notification.
    Task(String, Json),
}

impl Change {
    /// The notification that tells of it.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Change::Tools => methods::TOOLS_CHANGED,
            Change::Prompts => methods::PROMPTS_CHANGED,
            Change::Resources => methods::RESOURCES_CHANGED,
            Change::Resource(_) => methods::RESOURCE_UPDATED,
            Change::Task(..) => methods::TASK,
        }
    }
}

/// The clients that hear of changes.
#[derive(Clone, Default)]
pub(crate) struct Subscribers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    sessions: HashMap<String, Subscriber>,
    listeners: HashMap<u64, mpsc::Sender<Change>>,
    next: u64,
}

struct Subscriber {
    peer: Peer,
    handshake: Weak<Handshake>,
}

/// How many changes wait for a listener. When more do, it is told to look at everything again.
const WAITING: usize = 64;

impl Subscribers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session, until it ends.
    pub(crate) fn add(&self, session: &Session, handshake: &Arc<Handshake>) {
        let id = session.id().to_owned();
        let subscriber = Subscriber { peer: session.peer().clone(), handshake: Arc::downgrade(handshake) };
        if self.state().sessions.insert(id.clone(), subscriber).is_none() {
            let state = Arc::downgrade(&self.0);
            session.on_end(move |_| {
                if let Some(state) = state.upgrade() {
                    Subscribers(state).state().sessions.remove(&id);
                }
            });
        }
    }

    /// Adds a stateless client, until the listener is dropped.
    pub(crate) fn listen(&self) -> Listener {
        let (sender, changes) = mpsc::channel(WAITING);
        let mut state = self.state();
        state.next += 1;
        let key = state.next;
        state.listeners.insert(key, sender);
        Listener { subscribers: self.clone(), key, changes }
    }

    /// How many stateless clients listen.
    pub(crate) fn listeners(&self) -> usize {
        self.state().listeners.len()
    }

    /// Tells everyone who wants to hear of this change. Clients that are slow hold up no other.
    pub(crate) fn publish(&self, change: &Change) {
        let peers: Vec<Peer> = {
            let mut state = self.state();
            // A listener that is behind reads the lists again in any case, so the change that does not fit is not missed.
            state.listeners.retain(|_, sender| {
                !matches!(sender.try_send(change.clone()), Err(mpsc::error::TrySendError::Closed(_)))
            });
            let is_wanted = |subscriber: &&Subscriber| match change {
                Change::Resource(uri) => {
                    let handshake = subscriber.handshake.upgrade();
                    handshake.is_some_and(|handshake| handshake.subscriptions(|uris| uris.contains(uri)))
                }
                Change::Task(..) => false,
                _ => true,
            };
            state.sessions.values().filter(is_wanted).map(|subscriber| subscriber.peer.clone()).collect()
        };
        if peers.is_empty() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (method, params) = (change.method(), params(change));
        runtime.spawn(async move {
            let sent = peers.iter().map(|peer| peer.notify(method, params.clone()));
            for error in join_all(sent).await.into_iter().filter_map(Result::err) {
                tracing::debug!(%error, method, "a client was not notified");
            }
        });
    }
}

fn params(change: &Change) -> Option<Json> {
    match change {
        Change::Resource(uri) => Object::new().with("uri", uri.as_str()).json().ok(),
        Change::Task(_, params) => Some(params.clone()),
        _ => None,
    }
}

/// A stateless client that listens.
pub(crate) struct Listener {
    subscribers: Subscribers,
    key: u64,
    changes: mpsc::Receiver<Change>,
}

impl Listener {
    pub(crate) async fn next(&mut self) -> Option<Change> {
        self.changes.recv().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscribers.state().listeners.remove(&self.key);
    }
}
