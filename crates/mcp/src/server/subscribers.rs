//! Who hears of changes: sessions, and stateless clients that listen.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use switchboard_core::{Json, Peer, Session};
use tokio::sync::Notify;

use crate::model::{Capability, methods};
use crate::object::Object;
use crate::spoken::Handshake;
use crate::table::shrink;

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
    /// The notification that reports it.
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
    sessions: HashMap<String, Arc<Subscriber>>,
    listeners: HashMap<u64, Arc<Inbox>>,
    next: u64,
}

/// What a listener hears of a change, if anything.
type Wanted = dyn Fn(&Change) -> Option<Change> + Send + Sync;

struct Subscriber {
    peer: Peer,
    handshake: Weak<Handshake>,
    /// What it has not been told yet, and whether a task does that.
    waiting: Mutex<(Waiting, bool)>,
}

/// What a stateless client wants to hear of, and has not heard yet.
struct Inbox {
    /// The change by the name that the client gave it, if it wants to hear of it.
    wanted: Box<Wanted>,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

/// Changes that a client has not been told of, in order. One that waits already is not added again, so a client that does not read
/// holds no more than it subscribed to.
#[derive(Default)]
struct Waiting(VecDeque<Change>);

/// How many parts of resources wait for a listener by their own names. For more it hears of the resource that it named.
const PARTS: usize = 64;

impl Waiting {
    fn add(&mut self, change: Change) {
        let known = self.0.iter_mut().find(|known| match (&**known, &change) {
            (Change::Task(known, _), Change::Task(id, _)) => known == id,
            (known, change) => known == change,
        });
        match known {
            Some(known) => *known = change,
            None => self.0.push_back(change),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscribers {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// Adds a session, until it ends.
    pub(crate) fn add(&self, session: &Session, handshake: &Arc<Handshake>) {
        let id = session.id().to_owned();
        handshake.set_ready();
        let mut state = self.state();
        if state.sessions.contains_key(&id) {
            return;
        }
        let (peer, handshake) = (session.peer().clone(), Arc::downgrade(handshake));
        let subscriber = Subscriber { peer, handshake, waiting: Mutex::default() };
        state.sessions.insert(id.clone(), Arc::new(subscriber));
        drop(state);
        let state = Arc::downgrade(&self.0);
        session.on_end(move |_| {
            if let Some(state) = state.upgrade() {
                let subscribers = Subscribers(state);
                let mut state = subscribers.state();
                state.sessions.remove(&id);
                shrink(&mut state.sessions);
            }
        });
    }

    /// Adds a stateless client, until the listener is dropped. The function gives a change the name that the client used, if the client
    /// wants to hear of it.
    pub(crate) fn listen(
        &self,
        wanted: impl Fn(&Change) -> Option<Change> + Send + Sync + 'static,
    ) -> Listener {
        let (waiting, arrived) = (Mutex::default(), Notify::new());
        let inbox = Arc::new(Inbox { wanted: Box::new(wanted), waiting, arrived });
        let mut state = self.state();
        state.next += 1;
        let key = state.next;
        state.listeners.insert(key, Arc::clone(&inbox));
        Listener { subscribers: self.clone(), key, inbox }
    }

    /// How many stateless clients listen.
    pub(crate) fn listeners(&self) -> usize {
        self.state().listeners.len()
    }

    /// Tells everyone who wants to hear of this change. Clients that are slow hold up no other.
    pub(crate) fn publish(&self, change: &Change) {
        let state = self.state();
        state.listeners.values().for_each(|inbox| inbox.add(change));
        let is_wanted = |subscriber: &&Arc<Subscriber>| {
            let Some(handshake) = subscriber.handshake.upgrade() else { return false };
            match change {
                Change::Resource(uri) => handshake.subscriptions(|uris| uris.contains(uri)),
                Change::Tools => handshake.declared.has(Capability::Tools),
                Change::Prompts => handshake.declared.has(Capability::Prompts),
                Change::Resources => handshake.declared.has(Capability::Resources),
                Change::Task(..) => false,
            }
        };
        let subscribers: Vec<_> = state.sessions.values().filter(is_wanted).cloned().collect();
        drop(state);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for subscriber in subscribers {
            let mut waiting = locked(&subscriber.waiting);
            waiting.0.add(change.clone());
            let is_told = std::mem::replace(&mut waiting.1, true);
            drop(waiting);
            if !is_told {
                runtime.spawn(async move { subscriber.tell().await });
            }
        }
    }
}

impl Subscriber {
    fn next(&self) -> Option<Change> {
        let mut waiting = locked(&self.waiting);
        let next = waiting.0.0.pop_front();
        waiting.1 = next.is_some();
        next
    }

    /// Tells the client of what waits.
    async fn tell(&self) {
        while let Some(change) = self.next() {
            let method = change.method();
            if let Err(error) = self.peer.notify(method, params(&change)).await {
                tracing::debug!(%error, method, "a client was not notified");
            }
        }
    }
}

impl Inbox {
    fn add(&self, change: &Change) {
        let Some(named) = (self.wanted)(change) else { return };
        let mut waiting = locked(&self.waiting);
        let is_full = waiting.0.len() >= PARTS;
        waiting.add(if is_full { named } else { change.clone() });
        drop(waiting);
        self.arrived.notify_one();
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
    inbox: Arc<Inbox>,
}

impl Listener {
    /// The next change that the client wants to hear of.
    pub(crate) async fn next(&self) -> Change {
        loop {
            let next = locked(&self.inbox.waiting).0.pop_front();
            match next {
                Some(change) => return change,
                None => self.inbox.arrived.notified().await,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscribers.state().listeners.remove(&self.key);
    }
}
