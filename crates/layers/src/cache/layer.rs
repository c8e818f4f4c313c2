//! The layer that answers calls from the cache, or lets them pass and keeps their answers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use switchboard_core::{Call, ErrorObject, Layer, Reply, ReplyFuture, Service};
use tokio::time::Instant;

use super::entries::{Found, Kept};
use super::note::{Source, noted};
use super::rule::Fate;
use super::{Cache, CacheRule, State};
use crate::flights::{Boarded, Departed, Flight, Landing, call_for_all};
use crate::key::{NO_IDENTITY, key_of};

impl Layer for Cache {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Cached { state: Arc::clone(&self.0), inner })
    }
}

/// A service behind [`Cache`].
struct Cached {
    state: Arc<State>,
    inner: Arc<dyn Service>,
}

impl Service for Cached {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some((rule, key)) = self.state.key(call) else { return self.inner.call(call) };
        let (now, counters) = (Instant::now(), &self.state.counters);
        match self.state.entries.find(&key, now) {
            Found::Fresh(kept) => {
                counters.hits.fetch_add(1, Relaxed);
                ReplyFuture::ready(kept.reply(Source::Hit, now))
            }
            Found::Stale(kept) => {
                counters.stale_hits.fetch_add(1, Relaxed);
                self.refresh(call, rule, key, now);
                ReplyFuture::ready(kept.reply(Source::Stale, now))
            }
            Found::Nothing => self.miss(call, rule, key, now),
        }
    }
}

impl Cached {
    #[inline(never)]
    fn miss(&self, call: &Call, rule: usize, key: Vec<u8>, now: Instant) -> ReplyFuture {
        let departure = match self.state.flights.board(key) {
            Boarded::Follower(flight) => return self.wait(flight, call, now),
            Boarded::First(departure) => departure,
        };
        // The call before may have landed since nothing was found.
        if let Found::Fresh(kept) = self.state.entries.find(departure.key(), now) {
            self.state.counters.hits.fetch_add(1, Relaxed);
            departure.depart(ReplyFuture::ready(kept.unnoted_reply()), |_, _| ());
            return ReplyFuture::ready(kept.reply(Source::Hit, now));
        }
        let departed = departure.depart(call_for_all(&*self.inner, call), self.keep(rule, now));
        match departed {
            Departed::Landed(reply) => {
                self.state.counters.misses.fetch_add(1, Relaxed);
                ReplyFuture::ready(noted(reply, Source::Miss, now, now))
            }
            Departed::InFlight(flight) => self.wait(flight, call, now),
        }
    }

    fn wait(&self, flight: Arc<Flight>, call: &Call, began: Instant) -> ReplyFuture {
        self.state.counters.misses.fetch_add(1, Relaxed);
        let (inner, call) = (Arc::clone(&self.inner), call.clone());
        ReplyFuture::pending(async move {
            match flight.answer().await {
                Some(reply) => noted(reply, Source::Miss, began, Instant::now()),
                None => inner.call(&call).await,
            }
        })
    }

    /// Makes a call in the background, unless one with its key is in flight.
    #[inline(never)]
    fn refresh(&self, call: &Call, rule: usize, key: Vec<u8>, now: Instant) {
        if self.state.flights.has(&key) {
            return;
        }
        let Boarded::First(departure) = self.state.flights.board(key) else { return };
        let (held, keep, time) = (departure.hold(), self.keep(rule, now), self.state.refresh_time);
        let reply = call_for_all(&*self.inner, call);
        let reply = ReplyFuture::pending(async move {
            let reply = tokio::time::timeout(time, reply).await;
            reply.unwrap_or_else(|_| Reply::error(ErrorObject::timed_out()))
        });
        departure.depart(reply, move |reply, landing| {
            keep(reply, landing);
            // The call ends when it is not held any more, and no caller may be waiting for it.
            drop(held);
        });
    }

    /// What keeps the answer of a call that begins now.
    fn keep(&self, rule: usize, began: Instant) -> impl FnOnce(&Reply, &Landing) + Send + 'static {
        let state = Arc::clone(&self.state);
        move |reply, landing| state.keep(&state.rules[rule], reply, landing, began)
    }
}

impl State {
    /// The number of the rule for a call, and the key of its answer. None if the call passes.
    pub(super) fn key(&self, call: &Call) -> Option<(usize, Vec<u8>)> {
        if call.is_notification() {
            return None;
        }
        let is_about = |rule: &CacheRule| rule.methods.iter().any(|pattern| pattern.matches(&call.method));
        let rule = self.rules.iter().position(is_about)?;
        Some((rule, key_of(call, self.rules[rule].is_shared, self.forwarded.as_ref())?))
    }

    /// Why a call passes.
    pub(super) fn unused(&self, call: &Call) -> &'static str {
        let is_about = |rule: &CacheRule| rule.methods.iter().any(|pattern| pattern.matches(&call.method));
        match call.is_notification() {
            true => "notifications have no answer",
            false if !self.rules.iter().any(is_about) => "no rule is for this method",
            false => NO_IDENTITY,
        }
    }

    fn keep(&self, rule: &CacheRule, reply: &Reply, landing: &Landing, began: Instant) {
        match rule.fate(reply) {
            Fate::Kept { ttl, stale } => match Kept::new(reply, began, ttl, stale) {
                Some(kept) => self.entries.insert(landing, kept),
                None => self.entries.remove(landing),
            },
            Fate::Superseding => self.entries.remove(landing),
            Fate::Ignored => {}
        }
    }
}
