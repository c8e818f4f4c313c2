//! The layer that answers calls from the cache, or lets them pass and keeps their answers.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use switchboard_core::{Call, ErrorObject, Layer, Reply, ReplyFuture, Service};
use tokio::time::Instant;

use super::entries::{Found, Kept};
use super::level::{Level, Stored};
use super::note::{Source, noted};
use super::rule::Fate;
use super::{Cache, CacheRule, State};
use crate::flights::{Boarded, Departed, Departure, Flight, Landing, call_for_all};
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
        let shared = self.level(rule).map(|_| key.clone());
        let departure = match self.state.flights.board(key) {
            Boarded::Follower(flight) => return self.wait(flight, call, now, shared),
            Boarded::First(departure) => departure,
        };
        // The call before may have landed since nothing was found.
        if let Found::Fresh(kept) = self.state.entries.find(departure.key(), now) {
            self.state.counters.hits.fetch_add(1, Relaxed);
            departure.depart(ReplyFuture::ready(kept.unnoted_reply()), |_, _| ());
            return ReplyFuture::ready(kept.reply(Source::Hit, now));
        }
        let departed = match self.level(rule).zip(shared.clone()) {
            None => departure.depart(call_for_all(&*self.inner, call), self.keep(rule, now)),
            Some((level, key)) => self.look_further(call, (rule, level, key), departure, now),
        };
        match departed {
            Departed::Landed(reply) => {
                self.state.counters.misses.fetch_add(1, Relaxed);
                ReplyFuture::ready(noted(reply, Source::Miss, now, now))
            }
            Departed::InFlight(flight) => self.wait(flight, call, now, shared),
        }
    }

    /// The store behind the cache, if it is for this rule.
    fn level(&self, rule: usize) -> Option<Arc<Level>> {
        self.state.level.clone().filter(|_| self.state.rules[rule].is_stored)
    }

    /// Makes a call unless another server has stored its answer.
    fn look_further(
        &self,
        call: &Call,
        (rule, level, key): (usize, Arc<Level>, Vec<u8>),
        departure: Departure,
        now: Instant,
    ) -> Departed {
        let found = Arc::new(OnceLock::new());
        // Before the call is made: what it answers belongs to this generation.
        let (generation, keep) = (level.generation(&self.state), self.keep(rule, now));
        let reply = match generation {
            None => call_for_all(&*self.inner, call),
            Some(generation) => {
                let found = Arc::clone(&found);
                let (inner, call) = (Arc::clone(&self.inner), call.clone());
                ReplyFuture::pending(async move {
                    let Some(stored) = level.find(generation, &key).await else {
                        return call_for_all(&*inner, &call).await;
                    };
                    level.hits.fetch_add(1, Relaxed);
                    let Stored { reply, age, fresh, stale } = stored;
                    let began = Instant::now().checked_sub(age).unwrap_or(now);
                    let _ = found.set((began, age + fresh, stale));
                    reply
                })
            }
        };
        let state = Arc::clone(&self.state);
        departure.depart(reply, move |reply, landing| match found.get() {
            None => keep(reply, landing),
            Some((began, ttl, stale)) => {
                let kept = Kept::new(reply, *began, *ttl, *stale);
                kept.into_iter().for_each(|kept| state.entries.insert(landing, kept.stored()));
            }
        })
    }

    /// Waits for the answer of a call. With its key, the answer may come from the store.
    fn wait(&self, flight: Arc<Flight>, call: &Call, began: Instant, key: Option<Vec<u8>>) -> ReplyFuture {
        self.state.counters.misses.fetch_add(1, Relaxed);
        let (inner, call, state) = (Arc::clone(&self.inner), call.clone(), Arc::clone(&self.state));
        ReplyFuture::pending(async move {
            match flight.answer().await {
                Some(reply) => {
                    let now = Instant::now();
                    let stored = key.and_then(|key| state.entries.find(&key, now).stored());
                    match stored {
                        Some(kept) => kept.reply(Source::Hit, now),
                        None => noted(reply, Source::Miss, began, now),
                    }
                }
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
        // What was kept is given meanwhile, so the store need not be asked; but others get the answer from it.
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
        let level = self.level(rule);
        let generation = level.as_ref().and_then(|level| level.generation(&state));
        move |reply, landing| {
            let rule = &state.rules[rule];
            state.keep(rule, reply, landing, began);
            if let (Some(level), Some(generation), Fate::Kept { ttl, stale }, true) =
                (level, generation, rule.fate(reply), landing.is_current())
            {
                level.keep(generation, landing.key(), reply, began.elapsed(), (ttl, stale));
            }
        }
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
