//! The policies of an upstream, or of some of its methods, as layers.

use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard::access::Pattern;
use switchboard::cache::{Cache, CacheRule};
use switchboard::coalesce::Coalesce;
use switchboard::gateway::{
    Attempts, CallLimits, Conclusion, Explain, Fault, Hedge, Mirror, Retry, Selected, Stack, Step,
};
use switchboard::mcp::adapt::PlainResults;
use switchboard::merge::Merge;
use switchboard::{Call, Code, Layer, Service};

use super::clearing::Cleared;
use super::upstreams::Upstream;
use crate::config::{self, CacheConfig, PolicyConfig};

/// Why some policies do not apply to a call.
const NOT_SAFE: &str = "the method is not known to be safe to call twice";

/// What is set for some methods, and for the rest that of their upstream.
pub(super) fn over(policy: &PolicyConfig, upstream: &PolicyConfig) -> PolicyConfig {
    PolicyConfig {
        timeout: policy.timeout.or(upstream.timeout),
        max_reply: policy.max_reply.or(upstream.max_reply),
        retry: policy.retry.or(upstream.retry),
        hedge: policy.hedge.or(upstream.hedge),
        cache: policy.cache.clone().or_else(|| upstream.cache.clone()),
        shared: policy.shared.or(upstream.shared),
        coalesce: policy.coalesce.or(upstream.coalesce),
        merge: policy.merge.or(upstream.merge),
        mirror: policy.mirror.clone().or_else(|| upstream.mirror.clone()),
        fault: policy.fault.or(upstream.fault),
    }
}

/// The pool of an upstream with these policies around it; outermost last.
pub(super) fn stack(upstream: &Upstream, policy: &PolicyConfig, all: &[Upstream]) -> Stack {
    let retry = match policy.retry {
        None => Retry::default(),
        Some(retry) => Retry::times(retry.attempts).with_budget(retry.budget).with_timeout(retry.timeout),
    };
    let hedge = policy.hedge.flatten().map(|hedge| match hedge {
        config::Hedge::After(time) => Hedge::After(time),
        config::Hedge::Percentile(percent) => Hedge::Percentile(percent),
    });
    let attempts = Attempts::new(upstream.pool.clone(), retry, hedge, upstream.is_safe());
    let mut stack =
        Stack::of(attempts).with_note(SafetyNote(upstream.clone())).with(upstream.clearing.clone());
    if let Some(breaker) = &upstream.breaker {
        stack = stack.with(breaker.clone());
    }
    if let Some(Some(fault)) = policy.fault {
        let rule = Fault::default().with_delay(fault.delay).with_cut(fault.cut).with_traffic(fault.traffic);
        stack = stack.with(rule.with_error(fault.error.map(Code)));
    }
    stack = stack.with(CallLimits::default().with_time(policy.timeout).with_reply(policy.max_reply));
    if let Some(Some(mirror)) = &policy.mirror
        && let Some(to) = all.iter().find(|other| other.name == mirror.upstream)
    {
        let copies = Mirror::new(Arc::new(to.pool.clone()), mirror.traffic).with_name(to.name.as_str());
        let copies = copies.with_counts(Arc::clone(&upstream.mirrored));
        stack = stack.with(if mirror.diff { copies.with_diff() } else { copies });
    }
    let is_shared = policy.shared.unwrap_or(false);
    if policy.coalesce == Some(true) {
        let coalesce = Coalesce::new(everything());
        let coalesce = if is_shared { coalesce.shared() } else { coalesce };
        let coalesce = match upstream.forwarded() {
            Some(names) => coalesce.with_forwarded(names),
            None => coalesce,
        };
        stack = stack.with(Selected::new(upstream.is_safe(), coalesce).or_because(NOT_SAFE));
    }
    if let Some(Some(config)) = policy.merge {
        let merge = Merge::new(everything());
        let merge = if is_shared { merge.shared() } else { merge };
        let merge = match upstream.forwarded() {
            Some(names) => merge.with_forwarded(names),
            None => merge,
        };
        let merge = if config.last { merge.with_last() } else { merge };
        stack = stack.with(Selected::new(upstream.is_stream(), merge).or_because("it is not a subscription"));
    }
    if let Some(Some(config)) = &policy.cache {
        stack = cached(upstream, config, is_shared, stack);
    }
    // Outside of what is kept, because clients of MCP and others share it.
    if let Some(plain) = upstream.plain_results() {
        stack = stack.with(Plainly(plain));
    }
    match upstream.members() {
        Some(members) => stack.with(members),
        None => stack,
    }
}

/// The service with a cache. What the operator caches for a whole upstream is only what is safe to call twice.
fn cached(upstream: &Upstream, config: &CacheConfig, is_shared: bool, stack: Stack) -> Stack {
    let rule = CacheRule::new(everything(), config.ttl).with_stale(config.stale);
    let rule = if config.null { rule.with_null() } else { rule };
    let rule = if is_shared { rule.shared() } else { rule };
    let rule = config.errors.iter().fold(rule, |rule, (code, ttl)| rule.with_error(Code(*code), *ttl));
    let cache = Cache::new([if config.store { rule.stored() } else { rule }]).with_bytes(config.size);
    let cache = match upstream.forwarded() {
        Some(names) => cache.with_forwarded(names),
        None => cache,
    };
    let cache = match (&upstream.shared, config.store) {
        (Some(shared), true) => shared.caching(cache, &upstream.scope()),
        _ => cache,
    };
    let is_of_upstream = upstream.policy.cache.as_ref().and_then(Option::as_ref) == Some(config);
    let cleared = upstream.clearing.add(&config.clear_on, &cache, upstream);
    let cache = ClearedCache { cache, _cleared: cleared };
    match is_of_upstream {
        true => stack.with(Selected::new(upstream.is_safe(), cache).or_because(NOT_SAFE)),
        false => stack.with(cache),
    }
}

/// A cache, and what empties it as long as it is in use.
struct ClearedCache {
    cache: Cache,
    _cleared: Cleared,
}

impl Layer for ClearedCache {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        self.cache.layer(service)
    }
}

impl Explain for ClearedCache {
    fn name(&self) -> &'static str {
        self.cache.name()
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        self.cache.explain(call, steps)
    }
}

/// Says whether a method is safe to call twice, and why.
struct SafetyNote(Upstream);

impl Explain for SafetyNote {
    fn name(&self) -> &'static str {
        "safe"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let step = match self.0.safety(call.method.as_str()) {
            Some(why) => Step::new("safe", "yes", why),
            None => Step::new("safe", "no", NOT_SAFE),
        };
        steps.push(step);
        ControlFlow::Continue(())
    }
}

/// Gives plain callers the results of tools as values. That decides nothing.
struct Plainly(PlainResults);

impl Layer for Plainly {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        self.0.layer(service)
    }
}

impl Explain for Plainly {
    fn name(&self) -> &'static str {
        "results"
    }

    fn explain(&self, _: &Call, _: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        ControlFlow::Continue(())
    }
}

/// The policies of a route are only for its methods, so no further pattern is needed.
fn everything() -> Option<Pattern> {
    "**".parse().ok()
}
