//! What empties a cache: calls of some methods, and items of a subscription.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard::access::Pattern;
use switchboard::cache::Cache;
use switchboard::gateway::{Conclusion, Discovered, Explain, Reopens, Step};
use switchboard::{
    Call, CallError, Items, Json, Layer, Name, Outcome, Reply, ReplyFuture, Service, StreamWanted,
    Subscription,
};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::upstreams::Upstream;

/// The subscriptions of Ethereum nodes, which look like methods in the configuration.
const ETHEREUM: [&str; 4] = ["newHeads", "logs", "newPendingTransactions", "syncing"];

/// The pause before a subscription that ended is opened again: at first, and at most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a server may take to open a subscription.
const OPEN_TIME: Duration = Duration::from_secs(30);

/// A cache, and the methods whose calls empty it.
struct Watching {
    methods: Vec<Pattern>,
    cache: Cache,
}

/// Empties a cache until it is dropped.
pub(super) struct Cleared {
    following: Vec<AbortHandle>,
    _watching: Arc<Watching>,
}

impl Drop for Cleared {
    fn drop(&mut self) {
        self.following.iter().for_each(AbortHandle::abort);
    }
}

/// The caches of an upstream, and the calls that empty them. Cheap to clone.
#[derive(Clone)]
pub(super) struct Clearing {
    prefix: Arc<str>,
    caches: Arc<RwLock<Vec<Weak<Watching>>>>,
    /// All caches, also those that no call empties.
    all: Arc<RwLock<Vec<Weak<Watching>>>>,
}

impl Clearing {
    /// Of an upstream with this prefix.
    pub(super) fn new(prefix: &str) -> Clearing {
        Clearing { prefix: prefix.into(), caches: Arc::default(), all: Arc::default() }
    }

    /// Empties a cache when one of these things happens at the upstream, as long as the result is kept.
    pub(super) fn add(&self, events: &[String], cache: &Cache, upstream: &Upstream) -> Cleared {
        let (subscriptions, methods): (Vec<&String>, Vec<&String>) =
            events.iter().partition(|event| upstream.is_ethereum && ETHEREUM.contains(&event.as_str()));
        let pool = &upstream.pool;
        let topics = subscriptions.into_iter().map(|event| {
            tokio::spawn(follow(Event::of_ethereum(event), cache.clone(), pool.clone())).abort_handle()
        });
        let described = methods.iter().filter_map(|method| {
            let inside = method.strip_prefix(&*self.prefix).filter(|name| !name.contains('*'))?;
            let (discovered, method) = (upstream.discovered()?.clone(), Name::from(inside));
            Some(tokio::spawn(when_described(discovered, method, cache.clone(), pool.clone())).abort_handle())
        });
        let following = topics.chain(described).collect();
        let methods: Vec<Pattern> = methods.iter().filter_map(|method| method.parse().ok()).collect();
        let watching = Arc::new(Watching { methods, cache: cache.clone() });
        let is_watched = !watching.methods.is_empty();
        for list in [Some(&self.all), is_watched.then_some(&self.caches)].into_iter().flatten() {
            let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
            list.retain(|cache| cache.strong_count() > 0);
            list.push(Arc::downgrade(&watching));
        }
        Cleared { following, _watching: watching }
    }

    /// All caches of the upstream.
    pub(super) fn caches(&self) -> Vec<Cache> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).map(|watching| watching.cache.clone()).collect()
    }

    /// Removes the answers of these methods, under the names that callers know; returns how many there were.
    pub(super) fn clear(&self, methods: &[Pattern]) -> usize {
        let is_meant = |method: &str| {
            let name = format!("{}{method}", self.prefix);
            methods.iter().any(|pattern| pattern.matches(&name))
        };
        self.caches().iter().map(|cache| cache.clear_where(is_meant)).sum()
    }

    /// The caches that a call empties, under the name that callers know.
    fn of(&self, method: &Name) -> Vec<Cache> {
        let caches = self.caches.read().unwrap_or_else(PoisonError::into_inner);
        if caches.is_empty() {
            return Vec::new();
        }
        let name = format!("{}{method}", self.prefix);
        let is_hit = |watching: &Arc<Watching>| watching.methods.iter().any(|method| method.matches(&name));
        caches
            .iter()
            .filter_map(Weak::upgrade)
            .filter(is_hit)
            .map(|watching| watching.cache.clone())
            .collect()
    }
}

impl Layer for Clearing {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Watched { clearing: self.clone(), service })
    }
}

impl Explain for Clearing {
    fn name(&self) -> &'static str {
        "clear"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let count = self.of(&call.method).len();
        if count > 0 {
            let caches = if count == 1 { "a cache".to_owned() } else { format!("{count} caches") };
            steps.push(Step::new("clear", "yes", format!("empties {caches} (`clear_on`)")));
        }
        ControlFlow::Continue(())
    }
}

/// What is subscribed to.
#[derive(Clone)]
struct Event {
    method: Name,
    params: Option<Json>,
    /// The names of its stream, if the server describes them.
    names: Option<Arc<Subscription>>,
}

impl Event {
    fn of_ethereum(name: &str) -> Event {
        let params = Json::encode(&[name.to_owned()]).ok();
        Event { method: Name::from_static("eth_subscribe"), params, names: None }
    }
}

/// The same with the items of a method, once the server describes it as a subscription.
async fn when_described(discovered: Discovered, method: Name, cache: Cache, pool: impl Service) {
    let mut changes = discovered.changes();
    while !discovered.is_subscription(&method) {
        if changes.changed().await.is_err() {
            return;
        }
    }
    let names = discovered.stream_names(&method);
    follow(Event { method, params: None, names }, cache, pool).await;
}

/// Empties the cache with each item of a subscription, and when it is opened and when it ends, because items may have been missed. A server
/// that cannot subscribe leaves the cache alone.
async fn follow(event: Event, cache: Cache, pool: impl Service) {
    let (mut pause, mut was_told) = (PAUSE, false);
    loop {
        match subscribe(&event, &pool).await {
            Ok(mut items) => {
                let opened = Instant::now();
                cache.clear_all();
                while let Some(item) = items.next().await {
                    cache.clear_all();
                    if item.is_err_and(|error| error.gap().is_none()) {
                        break;
                    }
                }
                cache.clear_all();
                if opened.elapsed() >= pause {
                    (pause, was_told) = (PAUSE, false);
                }
            }
            Err(reason) => {
                if !was_told {
                    let event = event.params.as_ref().map_or(event.method.as_str(), Json::as_str);
                    tracing::warn!(event, reason, "cannot subscribe, so the cache is emptied by time alone");
                }
                was_told = true;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The items of a subscription, or why there are none.
async fn subscribe(event: &Event, pool: &impl Service) -> Result<Items, String> {
    let mut call = Call::new(event.method.clone(), event.params.clone());
    if let Some(names) = &event.names {
        call.cx.insert(Arc::clone(names));
    }
    call.cx.deadline = Some(Instant::now() + OPEN_TIME);
    call.cx.insert(StreamWanted);
    call.cx.insert(Reopens);
    match tokio::time::timeout(OPEN_TIME, pool.call(&call)).await.map(|reply| reply.outcome) {
        Ok(Outcome::Stream(items)) => Ok(items),
        Ok(Outcome::Error(error)) => Err(CallError::from(error).to_string()),
        Ok(Outcome::Value(_)) => Err("the server answered without a subscription".to_owned()),
        Err(_) => Err(CallError::TimedOut.to_string()),
    }
}

/// Sees the calls of an upstream.
struct Watched {
    clearing: Clearing,
    service: Arc<dyn Service>,
}

impl Service for Watched {
    fn call(&self, call: &Call) -> ReplyFuture {
        let reply = self.service.call(call);
        let caches = self.clearing.of(&call.method);
        if caches.is_empty() {
            return reply;
        }
        // A call that failed may have changed something, too.
        reply.map(move |reply: Reply| {
            for cache in caches {
                cache.clear_all();
            }
            reply
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use switchboard::cache::CacheRule;
    use switchboard::{ErrorObject, Peer, service_fn};

    use super::*;

    /// A cache that is emptied by what a node sends, and what it counts after a minute of one call a second.
    async fn hits(subscribed: fn() -> Reply) -> u64 {
        let node = service_fn(move |call: &Call| {
            ReplyFuture::ready(match call.method.as_str() {
                "eth_subscribe" => subscribed(),
                _ => Reply::value(Json::TRUE),
            })
        });
        let rule = CacheRule::new("**".parse().ok(), Duration::from_secs(3600)).shared();
        let cache = Cache::new([rule]);
        let peer = Peer::from(cache.layer(Arc::new(node.clone())));
        let following = tokio::spawn(follow(Event::of_ethereum("newHeads"), cache.clone(), node));
        for _ in 0..60 {
            peer.call::<bool>("eth_chainId", ()).await.expect("it answers");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        following.abort();
        cache.numbers().hits
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_cannot_subscribe_leaves_the_cache_alone() {
        assert_eq!(hits(|| Reply::error(ErrorObject::method_not_found("eth_subscribe"))).await, 59);
        assert_eq!(hits(|| Reply::value(Json::TRUE)).await, 59);
        // Only a few attempts within the minute.
        let ends_at_once = hits(|| Reply::stream(stream::iter([1]))).await;
        assert!((50..59).contains(&ends_at_once), "{ends_at_once}");
        // An item comes each second.
        let items = || {
            Reply::stream(stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(900)).await;
                Some((1, ()))
            }))
        };
        assert!(hits(items).await < 10);
    }
}
