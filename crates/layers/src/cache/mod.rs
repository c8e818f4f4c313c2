//! A cache: calls get the answers of earlier calls.
//!
//! A [`CacheRule`] says how long answers of some methods are kept. The first rule that matches a method applies; other methods pass. A call with
//! the same method and equal params gets the kept answer. Params are equal if they differ only in white space, in the order of object
//! members, or in how strings are escaped; `1` and `1.0` are different. Calls with the same key that find nothing are
//! [coalesced](crate::coalesce) into one.
//!
//! **Whose answers.** By default answers are private: a caller gets only answers to its own calls, made with the same identity and with the same roles,
//! scopes and claims. Calls of callers without an identity then pass, because nothing tells one such caller from another: an answer may depend
//! on a cookie, an address or a session. Declare methods that answer all callers alike as [shared](CacheRule::shared), and put the cache inside
//! the layers that decide who may call. Members that the protocol does not define are part of the key, and so is the metadata that you
//! [name](Cache::with_forwarded). Do not cache methods whose answers depend on other metadata.
//!
//! **How old.** Answers are fresh for [`ttl`](CacheRule::ttl). For [`stale`](CacheRule::stale) after that, calls get the old answer immediately, while one
//! call refreshes it in the background. An answer's age counts from when its call was sent, so no caller gets an answer older than both together. If
//! refreshing fails with an error that is not kept, the old answer stays until its time is over.
//!
//! **What is kept.** Values except `null`, unless the rule [keeps it](CacheRule::with_null); errors with a code that the rule
//! [names](CacheRule::with_error). Never streams and notifications. Callers that accept a
//! stream have separate answers, because a method may answer them with one. Everything beside an answer is kept with it.
//!
//! **How much.** At most [so many bytes](Cache::with_bytes), which include keys and bookkeeping. Answers that are used seldom make room for others, so
//! a caller that asks for many things once does not displace what others use. A single answer over an eighth of the size is not kept.
//!
//! **Invalidation.** After [`Cache::clear`] returns, no call gets an answer from before: not even that of a call which was in flight.
//!
//! **Several servers.** With a [store](Cache::with_store), servers share the answers of rules that are [stored](CacheRule::stored). A call that finds
//! nothing in its server looks there before it is made. Clearing the cache of one server clears those of all: the others within a second, in which
//! they may give answers from before. Only values are shared, up to 512 KiB each. If the store fails, each server keeps its own answers, and the log
//! says so; a call waits for it for at most 250 ms. The clocks of the servers must agree.
//!
//! Each answer has the metadata `cache`, which is `hit`, `stale` or `miss`, and `age`, in whole seconds.

mod entries;
mod explain;
mod layer;
mod level;
mod note;
mod rule;
mod stored;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use switchboard_core::AllowedNames;

use self::entries::Entries;
use self::level::Level;
pub use self::rule::CacheRule;
use crate::Pattern;
use crate::flights::Flights;
use crate::key::method_of;
use crate::store::Store;

/// How many bytes are kept unless set.
const BYTES: usize = 64 << 20;

/// How long a call that refreshes an answer may take unless set.
const REFRESH_TIME: Duration = Duration::from_secs(30);

/// Keeps answers for later calls. A [`Layer`](switchboard_core::Layer) to put directly around the service that answers. Cheap to clone; clones
/// share what they keep, so wrap only one service in it: another one may answer the same call differently.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_core::{ErrorObject, Peer, Router};
/// use switchboard_layers::cache::{Cache, CacheRule};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder().method("head", |(): (), _| Ok::<_, ErrorObject>(17)).build()?;
/// let rule = CacheRule::new(["head".parse()?], Duration::from_secs(2)).with_stale(Duration::from_secs(10)).shared();
/// let cache = Cache::new([rule]);
/// let peer = Peer::from(router.layered(cache.clone()));
/// assert_eq!(peer.call::<u64>("head", ()).await?, 17);
/// assert_eq!(peer.call::<u64>("head", ()).await?, 17);
/// assert_eq!((cache.numbers().misses, cache.numbers().hits), (1, 1));
/// assert_eq!(cache.clear(&"*".parse()?), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cache(Arc<State>);

struct State {
    rules: Arc<[CacheRule]>,
    forwarded: Option<AllowedNames>,
    entries: Entries,
    flights: Flights,
    refresh_time: Duration,
    counters: Counters,
    /// What is shared with other servers.
    level: Option<Arc<Level>>,
}

#[derive(Default)]
struct Counters {
    hits: AtomicU64,
    stale_hits: AtomicU64,
    misses: AtomicU64,
}

/// Numbers about a [`Cache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheNumbers {
    /// Calls that got a fresh answer.
    pub hits: u64,
    /// Calls that got a stale answer.
    pub stale_hits: u64,
    /// Calls that had to wait for an answer. Calls that no rule is about do not count.
    pub misses: u64,
    /// Calls, among those that had to wait, whose answer another server had stored.
    pub store_hits: u64,
    /// Answers that are kept.
    pub entries: usize,
    /// How many bytes they take.
    pub bytes: usize,
}

impl Cache {
    /// Keeps answers by these rules.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = CacheRule>) -> Cache {
        Cache(Arc::new(State::new(rules.into_iter().collect())))
    }

    /// Keeps at most so many bytes: 64 MiB unless set. Forgets what it has.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Cache {
        self.rebuilt(|state| state.entries = Entries::new(bytes))
    }

    /// Gives calls that refresh an answer so much time: 30 seconds unless set. Forgets what it has.
    #[must_use]
    pub fn with_refresh_time(self, refresh_time: Duration) -> Cache {
        self.rebuilt(|state| state.refresh_time = refresh_time)
    }

    /// Keeps the answers of calls apart that differ in metadata with these names, because the service inside learns it. Forgets what it has.
    #[must_use]
    pub fn with_forwarded(self, names: AllowedNames) -> Cache {
        self.rebuilt(|state| state.forwarded = Some(names))
    }

    /// Shares the answers of rules that are [stored](CacheRule::stored) with the caches of other servers that have the same store and this scope. It names
    /// the service that answers, so that no cache finds the answers of another service. Forgets what it has.
    ///
    /// The store must keep entries for [`Cache::store_time`]. A task follows it from the first call on, and ends with the cache.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>, scope: &str) -> Cache {
        let level = Arc::new(Level::new(store, scope, self.store_time()));
        self.rebuilt(|state| state.level = Some(level))
    }

    /// For how long the [store](Cache::with_store) keeps entries at most.
    #[must_use]
    pub fn store_time(&self) -> Duration {
        let times = self.0.rules.iter().map(|rule| rule.ttl.saturating_add(rule.stale));
        times.max().unwrap_or_default().max(Duration::from_secs(60))
    }

    /// An empty cache with the same settings, but this change.
    fn rebuilt(&self, change: impl FnOnce(&mut State)) -> Cache {
        let mut state = State {
            entries: Entries::new(self.0.entries.limit()),
            refresh_time: self.0.refresh_time,
            forwarded: self.0.forwarded.clone(),
            level: self.0.level.clone(),
            ..State::new(Arc::clone(&self.0.rules))
        };
        change(&mut state);
        Cache(Arc::new(state))
    }

    /// Forgets the answers of these methods, and returns how many there were. The answers of calls that are in flight are not kept either, and
    /// later calls do not wait for them.
    pub fn clear(&self, methods: &Pattern) -> usize {
        self.clear_if(|method| methods.matches(method))
    }

    /// The same for the methods for whose names this holds.
    pub fn clear_where(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        self.clear_if(|method| std::str::from_utf8(method).is_ok_and(&is_meant))
    }

    /// Forgets all answers, and returns how many there were.
    pub fn clear_all(&self) -> usize {
        self.clear_if(|_| true)
    }

    fn clear_if(&self, is_meant: impl Fn(&[u8]) -> bool) -> usize {
        // First, so that no call finds the old answer in the store after it was forgotten here.
        if let Some(level) = &self.0.level {
            level.clear();
        }
        self.0.forget(is_meant)
    }

    /// How it was used, and what it holds.
    #[must_use]
    pub fn numbers(&self) -> CacheNumbers {
        let Counters { hits, stale_hits, misses } = &self.0.counters;
        let (entries, bytes) = self.0.entries.size();
        CacheNumbers {
            hits: hits.load(Relaxed),
            stale_hits: stale_hits.load(Relaxed),
            misses: misses.load(Relaxed),
            entries,
            bytes,
            store_hits: self.0.level.as_ref().map_or(0, |level| level.hits.load(Relaxed)),
        }
    }
}

impl State {
    fn new(rules: Arc<[CacheRule]>) -> State {
        State {
            rules,
            forwarded: None,
            entries: Entries::new(BYTES),
            flights: Flights::default(),
            refresh_time: REFRESH_TIME,
            counters: Counters::default(),
            level: None,
        }
    }

    /// Forgets the answers in this server.
    fn forget(&self, is_meant: impl Fn(&[u8]) -> bool) -> usize {
        // In this order: an answer that arrives in between is either seen to be forgotten, or is here before the entries are removed.
        self.flights.forget(|key| is_meant(method_of(key)));
        self.entries.remove_if(|key| is_meant(method_of(key)))
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("rules", &self.0.rules).finish_non_exhaustive()
    }
}
