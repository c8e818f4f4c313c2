//! Caches of several servers that share a store.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{Call, Layer as _, Reply, Service};
use switchboard_layers::cache::{Cache, CacheRule};
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreFuture};
use tokio::time::{Instant, sleep_until};

use crate::upstream::{Upstream, call, shown, value};

/// Longer than it takes to hear that another server cleared its cache.
const HEARD: Duration = Duration::from_millis(600);

struct Server {
    cache: Cache,
    service: Arc<dyn Service>,
    upstream: Upstream,
}

impl Server {
    /// One that has heard of the store.
    async fn start(store: Arc<dyn Store>, scope: &str) -> Server {
        let rule = CacheRule::new(["get".parse().unwrap()], Duration::from_secs(60)).stored();
        let cache = Cache::new([rule]).with_store(store, scope);
        let upstream = Upstream::default();
        let server = Server { service: cache.layer(Arc::new(upstream.clone())), cache, upstream };
        assert_eq!(server.ask(&call("first", "get", "[0]"), "0").await, "0 miss");
        sleep_until(Instant::now() + Duration::from_millis(1)).await;
        server
    }

    /// What a call gets: the upstream answers this, if it is asked.
    async fn ask(&self, call: &Call, answer: &str) -> String {
        let asked = self.upstream.count();
        let reply = tokio::spawn(self.service.call(call));
        while self.upstream.count() == asked {
            if reply.is_finished() {
                return noted(&reply.await.unwrap());
            }
            tokio::task::yield_now().await;
        }
        self.upstream.answer(asked, value(answer));
        let reply = noted(&reply.await.unwrap());
        // It is stored in the background.
        sleep_until(Instant::now() + Duration::from_millis(1)).await;
        reply
    }

    async fn get(&self, who: &str, answer: &str) -> String {
        self.ask(&call(who, "get", "[1]"), answer).await
    }
}

fn noted(reply: &Reply) -> String {
    let metadata = reply.extra.as_ref().map(|extra| &extra.metadata);
    format!("{} {}", shown(reply), metadata.and_then(|metadata| metadata.text("cache")).unwrap_or("none"))
}

async fn pair() -> (Server, Server) {
    let store = Arc::new(MemoryStore::default());
    (Server::start(store.clone(), "bank").await, Server::start(store, "bank").await)
}

#[tokio::test(start_paused = true)]
async fn a_server_finds_what_another_one_got() {
    let (a, b) = pair().await;
    assert_eq!(a.get("ann", "7").await, "7 miss");
    assert_eq!(b.get("ann", "8").await, "7 hit");
    assert_eq!((b.cache.numbers().store_hits, b.cache.numbers().hits), (1, 0));
    assert_eq!(b.get("ann", "8").await, "7 hit");
    assert_eq!(b.cache.numbers().hits, 1, "it keeps it, too");
}

#[tokio::test(start_paused = true)]
async fn callers_and_services_are_kept_apart_in_the_store() {
    let store = Arc::new(MemoryStore::default());
    let a = Server::start(store.clone(), "bank").await;
    let other = Server::start(store, "shop").await;
    assert_eq!(a.get("ann", "7").await, "7 miss");
    assert_eq!(a.get("bob", "8").await, "8 miss");
    assert_eq!(other.get("ann", "9").await, "9 miss");
}

#[tokio::test(start_paused = true)]
async fn to_clear_one_cache_clears_all() {
    let (a, b) = pair().await;
    assert_eq!(a.get("ann", "7").await, "7 miss");
    assert_eq!(b.get("ann", "8").await, "7 hit");
    a.cache.clear_all();
    assert_eq!(a.get("ann", "8").await, "8 miss", "here at once");
    sleep_until(Instant::now() + HEARD).await;
    assert_eq!(b.get("ann", "9").await, "9 miss");
    // What is answered from then on is shared again.
    sleep_until(Instant::now() + HEARD).await;
    assert_eq!(a.ask(&call("ann", "get", "[2]"), "1").await, "1 miss");
    assert_eq!(b.ask(&call("ann", "get", "[2]"), "2").await, "1 hit");
}

/// A store that cannot be reached.
struct Gone;

fn gone<T>() -> StoreFuture<T> {
    StoreFuture::ready(Err(StoreError::Unavailable("gone".to_owned())))
}

impl Store for Gone {
    fn insert(&self, _: &[u8], _: &[u8], _: Duration) -> StoreFuture<bool> {
        gone()
    }

    fn read(&self, _: &[u8]) -> StoreFuture<Option<Bytes>> {
        gone()
    }

    fn replace(&self, _: &[u8], _: &[u8], _: &[u8], _: Duration) -> StoreFuture<bool> {
        gone()
    }

    fn add(&self, _: &[u8], _: u64, _: Duration) -> StoreFuture<u64> {
        gone()
    }

    fn remove(&self, _: &[u8]) -> StoreFuture<()> {
        gone()
    }

    fn since(&self) -> u64 {
        0
    }

    fn capacity(&self) -> Option<usize> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn without_its_store_each_server_keeps_its_own_answers() {
    let server = Server::start(Arc::new(Gone), "bank").await;
    assert_eq!(server.get("ann", "7").await, "7 miss");
    assert_eq!(server.get("ann", "8").await, "7 hit");
    server.cache.clear_all();
    assert_eq!(server.get("ann", "8").await, "8 miss");
}
