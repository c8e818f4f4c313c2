//! The answers that are kept, bounded by the bytes that they take.

use std::hash::BuildHasher as _;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use quick_cache::unsync::{Cache as Bounded, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use switchboard_core::{ErrorObject, Extra, Json, Metadata, Outcome, Reply};
use tokio::time::Instant;

use super::note::{Source, noted};
use crate::answer::SharedReply;
use crate::flights::Landing;
use crate::hashing::{SecretHashing, secret_hashing};

/// A cache of at least this size has several parts, so that threads seldom wait for each other. Each has its own bound.
const LARGE: usize = 1 << 20;

/// How many parts a large cache has. An answer takes at most half of one.
const PARTS: usize = 4;

/// What an entry takes besides its texts: itself, its place in the tables, which grow by doubling, and the headers of three allocations.
const OVERHEAD: usize = 2 * (size_of::<Kept>() + 64) + 48;

/// The usual size of an entry, by which the bounded cache estimates how many it will have.
const USUAL: usize = 1024;

/// Metadata that says how one call went, and nothing about its answer: how often a gateway sent it.
const OF_ONE_CALL: &str = "switchboard-attempts";

/// All entries.
pub(super) struct Entries {
    limit: usize,
    hashing: SecretHashing,
    parts: Box<[RwLock<Part>]>,
}

type Part = Bounded<Arc<[u8]>, Arc<Kept>, BySize, SecretHashing>;

/// An answer, and how long it is of use.
pub(super) struct Kept {
    answer: SharedReply,
    began: Instant,
    fresh_until: Instant,
    stale_until: Instant,
    bytes: usize,
    /// Whether another server got it.
    is_from_store: bool,
}

/// What is kept of the answer to a call.
pub(super) enum Found {
    Fresh(Arc<Kept>),
    Stale(Arc<Kept>),
    Nothing,
}

impl Found {
    /// The answer if another server got it.
    pub(super) fn stored(self) -> Option<Arc<Kept>> {
        match self {
            Found::Fresh(kept) | Found::Stale(kept) => Some(kept).filter(|kept| kept.is_from_store),
            Found::Nothing => None,
        }
    }
}

impl Entries {
    pub(super) fn new(limit: usize) -> Entries {
        let count = if limit < LARGE { 1 } else { PARTS };
        let hashing = secret_hashing();
        let options = OptionsBuilder::new()
            .weight_capacity((limit / count) as u64)
            .estimated_items_capacity(limit / count / USUAL + 1)
            .build()
            .expect("both sizes are given");
        let part =
            || Part::with_options(options.clone(), BySize, hashing.clone(), DefaultLifecycle::default());
        let parts = (0..count).map(|_| RwLock::new(part())).collect();
        Entries { limit, hashing, parts }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn find(&self, key: &[u8], now: Instant) -> Found {
        let found = self.part(key).read().unwrap_or_else(PoisonError::into_inner).get(key).map(Arc::clone);
        match found {
            Some(kept) if now < kept.fresh_until => Found::Fresh(kept),
            Some(kept) if now < kept.stale_until => Found::Stale(kept),
            _ => Found::Nothing,
        }
    }

    /// Keeps the answer of a call that has landed, unless that was forgotten before.
    pub(super) fn insert(&self, landing: &Landing, kept: Kept) {
        if landing.key().len() + kept.bytes > self.limit / 8 {
            return self.remove(landing);
        }
        self.change(landing, |part, key| part.insert(Arc::clone(key), Arc::new(kept)));
    }

    /// Forgets the answer that a call which has landed has superseded.
    pub(super) fn remove(&self, landing: &Landing) {
        self.change(landing, |part, key| drop(part.remove(&**key)));
    }

    /// Forgets all answers with such keys, and counts them.
    pub(super) fn remove_if(&self, is_meant: impl Fn(&[u8]) -> bool) -> usize {
        let mut removed = 0;
        for part in &self.parts {
            let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
            let before = part.len();
            part.retain(|key, _| !is_meant(key));
            removed += before - part.len();
        }
        removed
    }

    /// How many entries there are, and how many bytes they take.
    pub(super) fn size(&self) -> (usize, usize) {
        let sizes = self.parts.iter().map(|part| {
            let part = part.read().unwrap_or_else(PoisonError::into_inner);
            (part.len(), usize::try_from(part.weight()).unwrap_or(usize::MAX))
        });
        sizes.fold((0, 0), |(entries, bytes), (more, size)| (entries + more, bytes + size))
    }

    fn change(&self, landing: &Landing, change: impl FnOnce(&mut Part, &Arc<[u8]>)) {
        let mut part = self.part(landing.key()).write().unwrap_or_else(PoisonError::into_inner);
        // Asked while the part is locked, see `Cache::clear_if`.
        if landing.is_current() {
            change(&mut part, landing.key());
        }
    }

    fn part(&self, key: &[u8]) -> &RwLock<Part> {
        match &*self.parts {
            [only] => only,
            // The high bits: the tables use the low ones.
            parts => &parts[(self.hashing.hash_one(key) >> 62) as usize % parts.len()],
        }
    }
}

impl Kept {
    /// Keeps a copy that shares no frame with the answer. None if it would be of no use.
    pub(super) fn new(reply: &Reply, began: Instant, ttl: Duration, stale: Duration) -> Option<Kept> {
        let never = || began + Duration::from_secs(u32::MAX.into());
        let fresh_until = began.checked_add(ttl).unwrap_or_else(never);
        let stale_until = fresh_until.checked_add(stale).unwrap_or_else(never);
        if stale_until <= Instant::now() {
            return None;
        }
        let outcome = match &reply.outcome {
            Outcome::Value(json) => Ok(json.detached()),
            Outcome::Error(error) => Err(detached_error(error)),
            Outcome::Stream(_) => return None,
        };
        let extra = reply.extra.as_deref().map(|extra| Box::new(detached_extra(extra)));
        let answer = SharedReply { outcome, extra };
        let bytes = OVERHEAD + size_of_answer(&answer);
        Some(Kept { answer, began, fresh_until, stale_until, bytes, is_from_store: false })
    }

    /// The same answer, which another server got.
    pub(super) fn stored(self) -> Kept {
        Kept { is_from_store: true, ..self }
    }

    /// The answer for a caller.
    pub(super) fn reply(&self, source: Source, now: Instant) -> Reply {
        noted(self.unnoted_reply(), source, self.began, now)
    }

    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    pub(super) fn unnoted_reply(&self) -> Reply {
        self.answer.clone().into_reply()
    }
}

fn detached_error(error: &ErrorObject) -> ErrorObject {
    let mut error = error.clone();
    error.data = error.data.as_ref().map(Json::detached);
    error
}

fn detached_extra(extra: &Extra) -> Extra {
    let mut kept = Extra::default();
    let metadata = extra.metadata.entries().into_iter().filter(|(name, _)| *name != OF_ONE_CALL);
    kept.status = extra.status;
    kept.metadata = metadata.map(|(name, value)| (name, value.to_vec())).collect::<Metadata>();
    kept.members = extra.members.as_ref().map(Json::detached);
    kept.error = extra.error.as_ref().map(Json::detached);
    kept
}

/// The bytes on the heap that an answer takes.
fn size_of_answer(answer: &SharedReply) -> usize {
    let text = |json: Option<&Json>| json.map_or(0, |json| json.as_bytes().len());
    let outcome = match &answer.outcome {
        Ok(json) => text(Some(json)),
        // Its fields are on the heap, and what it says about a local failure may be, too.
        Err(error) => 256 + error.message.len() + text(error.data.as_ref()),
    };
    let extra = answer.extra.as_deref().map_or(0, |extra| {
        let metadata = extra.metadata.entries().into_iter();
        let metadata: usize = metadata.map(|(name, value)| name.len() + value.len() + 96).sum();
        256 + metadata + text(extra.members.as_ref()) + text(extra.error.as_ref())
    });
    outcome + extra
}

/// Counts the bytes of an entry.
#[derive(Clone)]
struct BySize;

impl Weighter<Arc<[u8]>, Arc<Kept>> for BySize {
    fn weight(&self, key: &Arc<[u8]>, kept: &Arc<Kept>) -> u64 {
        (key.len() + kept.bytes) as u64
    }
}
