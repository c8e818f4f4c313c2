//! The policies of an upstream, or of some of its methods, as layers.

use std::sync::Arc;

use switchboard::access::Pattern;
use switchboard::cache::{Cache, CacheRule};
use switchboard::coalesce::Coalesce;
use switchboard::gateway::{Attempts, CallLimits, Fault, Hedge, Mirror, Retry, Selected};
use switchboard::merge::Merge;
use switchboard::{Code, Layer, Service};

use super::upstreams::Upstream;
use crate::config::{self, CacheConfig, PolicyConfig};

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
pub(super) fn stack(upstream: &Upstream, policy: &PolicyConfig, all: &[Upstream]) -> Arc<dyn Service> {
    let retry = match policy.retry {
        None => Retry::default(),
        Some(retry) => Retry::times(retry.attempts).with_budget(retry.budget),
    };
    let hedge = policy.hedge.flatten().map(|hedge| match hedge {
        config::Hedge::After(time) => Hedge::After(time),
        config::Hedge::Percentile(percent) => Hedge::Percentile(percent),
    });
    let mut service: Arc<dyn Service> =
        Arc::new(Attempts::new(upstream.pool.clone(), retry, hedge, upstream.is_safe()));
    service = upstream.clearing.layer(service);
    if let Some(breaker) = &upstream.breaker {
        service = breaker.layer(service);
    }
    if let Some(Some(fault)) = policy.fault {
        let rule = Fault::default().with_delay(fault.delay).with_cut(fault.cut).with_traffic(fault.traffic);
        service = rule.with_error(fault.error.map(Code)).layer(service);
    }
    service = CallLimits::default().with_time(policy.timeout).with_reply(policy.max_reply).layer(service);
    if let Some(Some(mirror)) = &policy.mirror
        && let Some(to) = all.iter().find(|other| other.name == mirror.upstream)
    {
        let copies = Mirror::new(Arc::new(to.pool.clone()), mirror.traffic);
        service = if mirror.diff { copies.with_diff() } else { copies }.layer(service);
    }
    let is_shared = policy.shared.unwrap_or(false);
    if policy.coalesce == Some(true) {
        let coalesce = Coalesce::new(everything());
        let coalesce = if is_shared { coalesce.shared() } else { coalesce };
        service = Selected::new(upstream.is_safe(), coalesce).layer(service);
    }
    if let Some(Some(config)) = policy.merge {
        let merge = Merge::new(everything());
        let merge = if is_shared { merge.shared() } else { merge };
        let merge = if config.last { merge.with_last() } else { merge };
        service = Selected::new(upstream.is_stream(), merge).layer(service);
    }
    if let Some(Some(config)) = &policy.cache {
        service = cached(upstream, config, is_shared, service);
    }
    // Outermost, because clients of MCP and others share what is kept.
    match upstream.plain_results() {
        Some(plain) => plain.layer(service),
        None => service,
    }
}

/// The service with a cache. What the operator caches for a whole upstream is only what is safe to call twice.
fn cached(
    upstream: &Upstream,
    config: &CacheConfig,
    is_shared: bool,
    service: Arc<dyn Service>,
) -> Arc<dyn Service> {
    let rule = CacheRule::new(everything(), config.ttl).with_stale(config.stale);
    let rule = if config.null { rule.with_null() } else { rule };
    let rule = if is_shared { rule.shared() } else { rule };
    let rule = config.errors.iter().fold(rule, |rule, (code, ttl)| rule.with_error(Code(*code), *ttl));
    let cache = Cache::new([rule]).with_bytes(config.size);
    let is_of_upstream = upstream.policy.cache.as_ref().and_then(Option::as_ref) == Some(config);
    upstream.clearing.add(&config.clear_on, &cache, &upstream.pool, upstream.is_ethereum);
    match is_of_upstream {
        true => Selected::new(upstream.is_safe(), cache.clone()).layer(service),
        false => cache.layer(service),
    }
}

/// The policies of a route are only for its methods, so no further pattern is needed.
fn everything() -> Option<Pattern> {
    "**".parse().ok()
}
