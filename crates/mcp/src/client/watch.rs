//! Changes of lists and resources as streams (MCP-RES-04, MCP-U-01 to MCP-U-07).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use switchboard_core::reconnect::Backoff;
use switchboard_core::{
    Call, CallError, Feed, FeedItems, Gap, Json, Outcome, Overflow, Reply, ReplyFuture, Service,
};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::about::Claim;
use super::rounds::Request as Sent;
use super::{Client, HANDSHAKE, Request};
use crate::model::{Capability, ListenFilter, Wire as _, meta, methods};
use crate::object::Object;

/// Something that has changed on a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources, or of their templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The resource with this URI, which may be a part of one that was asked for.
    Resource(String),
}

/// How many changes wait for a reader. Then the oldest is dropped, and the reader finds a gap.
const WAITING: usize = 256;

/// The changes of a server, for as long as it is kept.
///
/// An item is an error if changes may have been missed, because the connection broke or the reader was too slow: it is
/// [`CallError::Gap`], and the stream goes on. Any other error ends it.
#[must_use = "dropping it ends the subscription"]
pub struct Watch {
    items: FeedItems<Seen>,
    _subscribed: Subscribed,
}

#[derive(Clone, Debug)]
enum Seen {
    Change(Change),
    Gap,
    End(CallError),
}

impl Stream for Watch {
    type Item = Result<Change, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.items).poll_next(cx));
        Poll::Ready(next.map(|seen| match seen {
            Ok(Seen::Change(change)) => Ok(change),
            Ok(Seen::Gap) => Err(CallError::Gap(Gap::reconnected())),
            Ok(Seen::End(error)) => Err(error),
            Err(error) => Err(error.into()),
        }))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch(..)")
    }
}

/// Who wants to hear of changes.
#[derive(Default)]
pub(super) struct Watchers {
    state: Mutex<Watching>,
    /// Subscriptions begin one after the other: the next acknowledgement is for the one that begins.
    beginning: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Watching {
    last: u64,
    all: HashMap<u64, Watcher>,
    /// Gets the identifier of the subscription that begins.
    acknowledged: Option<oneshot::Sender<Json>>,
}

struct Watcher {
    feed: Arc<Feed<Seen>>,
    uris: BTreeSet<String>,
    /// The subscription that it belongs to, if the server has no session.
    subscription: Option<Json>,
}

impl Watchers {
    fn state(&self) -> MutexGuard<'_, Watching> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, uris: BTreeSet<String>) -> (u64, FeedItems<Seen>) {
        let (feed, items) = Feed::new(WAITING, Overflow::DropOldest);
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.all.insert(number, Watcher { feed: Arc::new(feed), uris, subscription: None });
        (number, items)
    }

    fn feed(&self, number: u64) -> Option<Arc<Feed<Seen>>> {
        self.state().all.get(&number).map(|watcher| Arc::clone(&watcher.feed))
    }

    async fn send(&self, number: u64, seen: Seen) {
        if let Some(feed) = self.feed(number) {
            let _ = feed.send(seen).await;
        }
    }

    /// All resources that someone watches.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.state().all.values().flat_map(|watcher| watcher.uris.iter().cloned()).collect()
    }

    /// Passes a notification on.
    pub(super) async fn tell(&self, notification: &str, params: Option<&Json>) {
        let meta = params.and_then(|params| params.get(meta::META));
        let subscription = meta.and_then(|meta| meta.get(meta::SUBSCRIPTION_ID));
        if notification == methods::ACKNOWLEDGED {
            let waiting = self.state().acknowledged.take();
            if let Some((waiting, subscription)) = waiting.zip(subscription) {
                let _ = waiting.send(subscription.detached());
            }
            return;
        }
        let Some(change) = change(notification, params) else { return };
        let feeds: Vec<_> = {
            let state = self.state();
            let wants = |watcher: &&Watcher| watcher.wants(&change, subscription.as_ref());
            state.all.values().filter(wants).map(|watcher| Arc::clone(&watcher.feed)).collect()
        };
        for feed in feeds {
            let _ = feed.send(Seen::Change(change.clone())).await;
        }
    }

    /// Changes may have been missed by those who share the session.
    pub(super) async fn gap(&self) {
        let feeds: Vec<_> = {
            let state = self.state();
            let shared = state.all.values().filter(|watcher| watcher.subscription.is_none());
            shared.map(|watcher| Arc::clone(&watcher.feed)).collect()
        };
        for feed in feeds {
            let _ = feed.send(Seen::Gap).await;
        }
    }
}

impl Watcher {
    fn wants(&self, change: &Change, subscription: Option<&Json>) -> bool {
        match &self.subscription {
            Some(own) => subscription == Some(own),
            None => match change {
                Change::Resource(uri) => self.uris.iter().any(|wanted| uri.starts_with(wanted.as_str())),
                _ => true,
            },
        }
    }
}

fn change(notification: &str, params: Option<&Json>) -> Option<Change> {
    match notification {
        methods::TOOLS_CHANGED => Some(Change::Tools),
        methods::RESOURCES_CHANGED => Some(Change::Resources),
        methods::PROMPTS_CHANGED => Some(Change::Prompts),
        methods::RESOURCE_UPDATED => Some(Change::Resource(params?.get("uri")?.decode().ok()?)),
        _ => None,
    }
}

impl Client {
    /// Watches the lists of the server, and these resources.
    ///
    /// # Errors
    ///
    /// When the server refuses, or cannot say when a resource changes.
    pub async fn watch<I>(&self, resources: I) -> Result<Watch, CallError>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let uris: BTreeSet<String> = resources.into_iter().map(Into::into).collect();
        if !uris.is_empty() && !self.has(Capability::Subscribe) {
            return Err(CallError::Unsupported("the server does not say when a resource changes".into()));
        }
        let (number, items) = self.listening.watchers.add(uris.clone());
        let mut subscribed = Subscribed { client: self.clone(), number, task: None };
        if self.revision().is_stateless() {
            let (begun, first) = oneshot::channel();
            let lasting = Lasting { client: self.clone(), number, call: self.listen_call(uris)? };
            subscribed.task = Some(tokio::spawn(lasting.run(begun)).abort_handle());
            first.await.unwrap_or(Err(CallError::Cancelled))?;
        } else {
            self.listen_in_session().await;
            if self.shared.link.is_none() {
                subscribed.task = Some(tokio::spawn(keep_alive(self.clone())).abort_handle());
            }
            for uri in uris {
                self.subscribe(methods::SUBSCRIBE, &uri).await?;
            }
        }
        Ok(Watch { items, _subscribed: subscribed })
    }

    fn subscribe(&self, method: &'static str, uri: &str) -> Request<()> {
        let params = Json::encode_ref(uri).map(|uri| vec![("uri".to_owned(), uri)]);
        let params = params.map_err(|error| CallError::Params(error.to_string().into()));
        let sent = params.map(|params| Sent { method: method.into(), params, headers: Default::default() });
        Request::new(self, sent, |_| Ok(())).timeout(HANDSHAKE)
    }

    /// The request that begins a subscription of a stateless server.
    fn listen_call(&self, uris: BTreeSet<String>) -> Result<Call, CallError> {
        let known = self.capabilities();
        let filter = ListenFilter {
            tools_list_changed: known.tools.as_ref().is_some_and(|tools| tools.list_changed),
            prompts_list_changed: known.prompts.as_ref().is_some_and(|prompts| prompts.list_changed),
            resources_list_changed: known.resources.as_ref().is_some_and(|resources| resources.list_changed),
            resource_subscriptions: uris.into_iter().collect(),
            ..ListenFilter::default()
        };
        let revision = self.revision();
        let params = Object::new().with("notifications", filter.to_json(revision));
        Ok(self.shared.about.request(methods::LISTEN, params, revision, Claim::default())?)
    }
}

/// Ends a subscription when it is dropped.
struct Subscribed {
    client: Client,
    number: u64,
    /// Keeps up the subscription of a stateless server.
    task: Option<AbortHandle>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let watchers = &self.client.listening.watchers;
        let removed = watchers.state().all.remove(&self.number);
        self.task.as_ref().inspect(|task| task.abort());
        if self.client.revision().is_stateless() {
            return;
        }
        let others = watchers.uris();
        let unwatched: Vec<String> = removed
            .into_iter()
            .flat_map(|watcher| watcher.uris)
            .filter(|uri| !others.contains(uri))
            .collect();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if unwatched.is_empty() {
            return;
        }
        let client = self.client.clone();
        runtime.spawn(async move {
            for uri in unwatched {
                if let Err(error) = client.subscribe(methods::UNSUBSCRIBE, &uri).await {
                    tracing::debug!(%error, "a subscription of an MCP server was not ended");
                }
            }
        });
    }
}

/// Connects again when a duplex connection has broken: nothing else does if no call is made.
async fn keep_alive(client: Client) {
    loop {
        tokio::time::sleep(KEEP_ALIVE).await;
        if let Err(error) = client.ping().timeout(HANDSHAKE).await {
            tracing::debug!(%error, "an MCP server that is watched does not answer");
        }
    }
}

/// A subscription that is begun again whenever it ends, until its task is aborted.
struct Lasting {
    client: Client,
    number: u64,
    call: Call,
}

impl Lasting {
    async fn run(self, begun: oneshot::Sender<Result<(), CallError>>) {
        let mut begun = Some(begun);
        let mut delays = Backoff::default().delays();
        loop {
            let watchers = &self.client.listening.watchers;
            let (acknowledged, reply) = self.begin(watchers).await;
            let ended = match acknowledged {
                Ok(()) => {
                    match begun.take() {
                        Some(begun) => drop(begun.send(Ok(()))),
                        None => {
                            self.client.listening.renewed().await;
                            watchers.send(self.number, Seen::Gap).await;
                        }
                    }
                    delays = Backoff::default().delays();
                    match reply {
                        Some(reply) => outcome(&reply.await),
                        None => None,
                    }
                }
                Err(error) => Some(error),
            };
            if let Some(error) = ended {
                if let Some(begun) = begun.take() {
                    let _ = begun.send(Err(error));
                    return;
                }
                if error.is_permanent() {
                    watchers.send(self.number, Seen::End(error)).await;
                    watchers.state().all.remove(&self.number);
                    return;
                }
            }
            tokio::time::sleep(delays.next().unwrap_or(LONGEST)).await;
        }
    }

    /// Sends the request, and waits until the server acknowledges it.
    async fn begin(&self, watchers: &Watchers) -> (Result<(), CallError>, Option<ReplyFuture>) {
        let _alone = watchers.beginning.lock().await;
        let (sender, acknowledged) = oneshot::channel();
        watchers.state().acknowledged = Some(sender);
        let mut reply = Service::call(&self.client.peer, &self.call);
        tokio::select! {
            biased;
            subscription = acknowledged => match subscription {
                Ok(subscription) => {
                    if let Some(watcher) = watchers.state().all.get_mut(&self.number) {
                        watcher.subscription = Some(subscription);
                    }
                    (Ok(()), Some(reply))
                }
                Err(_) => (Err(CallError::Protocol("the subscription was acknowledged without its identifier".into())), None),
            },
            reply = &mut reply => {
                let none = CallError::Protocol("the subscription ended before it was acknowledged".into());
                (Err(outcome(&reply).unwrap_or(none)), None)
            }
            () = tokio::time::sleep(HANDSHAKE) => (Err(CallError::TimedOut), None),
        }
    }
}

/// How often a server is asked whether it is there, while it is watched.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The longest pause before a subscription is begun again.
const LONGEST: Duration = Duration::from_secs(30);

/// Why a subscription ended; none if the server ended it.
fn outcome(reply: &Reply) -> Option<CallError> {
    match &reply.outcome {
        Outcome::Error(error) => Some(error.clone().into()),
        Outcome::Value(_) | Outcome::Stream(_) => None,
    }
}
