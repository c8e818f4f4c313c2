//! What empties a cache: calls of some methods, and items of a subscription.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard::access::Pattern;
use switchboard::cache::Cache;
use switchboard::gateway::{Conclusion, Explain, Pool, Step};
use switchboard::{Call, Json, Layer, Name, Peer, Reply, ReplyFuture, Service};
use tokio::task::AbortHandle;

/// The subscriptions of Ethereum nodes, which look like methods in the configuration.
const ETHEREUM: [&str; 4] = ["newHeads", "logs", "newPendingTransactions", "syncing"];

/// The pause before a subscription that ended is opened again.
const PAUSE: Duration = Duration::from_secs(1);

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
    pub(super) fn add(&self, events: &[String], cache: &Cache, pool: &Pool, is_ethereum: bool) -> Cleared {
        let (subscriptions, methods): (Vec<&String>, Vec<&String>) =
            events.iter().partition(|event| is_ethereum && ETHEREUM.contains(&event.as_str()));
        let following = subscriptions.into_iter().map(|event| {
            tokio::spawn(follow(event.clone(), cache.clone(), Peer::local(pool.clone()))).abort_handle()
        });
        let following = following.collect();
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

/// Empties the cache with each item of a subscription, and when the subscription breaks, because items may be missing then.
async fn follow(event: String, cache: Cache, peer: Peer) {
    let mut was_told = false;
    loop {
        match peer.stream::<Json>("eth_subscribe", [&event]).await {
            Ok(mut items) => {
                was_told = false;
                while let Some(item) = items.next().await {
                    cache.clear_all();
                    if item.is_err_and(|error| !matches!(error, switchboard::CallError::Gap(_))) {
                        break;
                    }
                }
            }
            Err(error) if !was_told => {
                was_told = true;
                tracing::warn!(event, %error, "cannot subscribe, so the cache is emptied by time alone");
            }
            Err(_) => {}
        }
        cache.clear_all();
        tokio::time::sleep(PAUSE).await;
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
