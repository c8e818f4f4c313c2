//! An upstream as the admin listener shows it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::gateway::{Breaker, BreakerState, NodeStatus, Skipped};

use crate::gateway::Upstream;

/// An upstream at a moment. Counts begin with the process.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpstreamRecord {
    name: String,
    /// What its methods begin with.
    prefix: String,
    /// One of up, degraded (some of its servers are not available), down (none is, or the breaker is open).
    state: &'static str,
    /// One of closed, open, half-open. Missing without a breaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker: Option<&'static str>,
    /// When an open breaker lets a call through, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker_until: Option<f64>,
    /// Calls that the breaker refused.
    refused: u64,
    /// How many methods it describes.
    methods: usize,
    /// Calls sent to its servers, with retries and hedges.
    calls: u64,
    /// How many of them its servers failed. Ordinary errors of methods do not count.
    errors: u64,
    /// Calls that were sent again after a failure.
    retries: u64,
    /// Calls that were sent to a second server because the first was slow.
    hedges: u64,
    /// Calls in progress.
    in_flight: u32,
    /// What its caches did and hold. Missing without a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<CacheRecord>,
    /// Its servers.
    nodes: Vec<NodeRecord>,
}

/// The caches of an upstream.
#[derive(Debug, Serialize, JsonSchema)]
struct CacheRecord {
    /// Calls that got a fresh answer.
    hits: u64,
    /// Calls that got an old answer while it was refreshed.
    stale: u64,
    /// Calls that had to wait for an answer.
    misses: u64,
    /// Answers that are kept.
    entries: usize,
    /// How many bytes they take.
    bytes: usize,
}

/// A server of an upstream.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NodeRecord {
    /// Without secrets.
    url: String,
    /// One of up, failing (the last call failed), down, lagging, ejected, drained.
    state: &'static str,
    /// Why it is not up.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When it gets calls again, in milliseconds since 1970, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<f64>,
    /// It gets calls only while no server with a lower number is available.
    priority: u32,
    /// Its share of the calls, relative to other servers.
    weight: u32,
    /// Calls sent to it.
    calls: u64,
    /// How many of them it failed.
    errors: u64,
    /// Why a call failed last, without secrets and texts of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// When that was, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error_at: Option<f64>,
    /// Calls in progress.
    in_flight: u32,
    /// How long its answers take, as a moving average in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    /// How far it is behind the most current server, if health checks tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<u64>,
    /// Open connections to it, or processes. Over HTTP, each stands for as many as are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<usize>,
}

impl UpstreamRecord {
    pub(super) fn of(upstream: &Upstream) -> UpstreamRecord {
        let nodes = upstream.pool.status();
        let breaker = upstream.breaker.as_ref();
        let (word, until) = match breaker.map(Breaker::state) {
            None => (None, None),
            Some(BreakerState::Open { for_another }) => (Some("open"), Some(after(for_another))),
            Some(BreakerState::HalfOpen) => (Some("half-open"), None),
            Some(_) => (Some("closed"), None),
        };
        UpstreamRecord {
            name: upstream.name.clone(),
            prefix: upstream.prefix.clone(),
            state: state(&nodes, word),
            breaker: word,
            breaker_until: until,
            refused: breaker.map_or(0, Breaker::refused),
            methods: upstream.methods(),
            calls: nodes.iter().map(|node| node.calls).sum(),
            errors: nodes.iter().map(|node| node.failures).sum(),
            retries: upstream.pool.retries(),
            hedges: upstream.pool.hedges(),
            in_flight: nodes.iter().map(|node| node.in_flight).sum(),
            cache: upstream.cache().map(|cache| CacheRecord {
                hits: cache.hits,
                stale: cache.stale_hits,
                misses: cache.misses,
                entries: cache.entries,
                bytes: cache.bytes,
            }),
            nodes: nodes.iter().map(NodeRecord::of).collect(),
        }
    }
}

fn state(nodes: &[NodeStatus], breaker: Option<&str>) -> &'static str {
    let is_available = |node: &&NodeStatus| node.skipped.is_none();
    let is_up = |node: &NodeStatus| node.skipped.is_none() && node.failed_in_a_row == 0;
    match nodes.iter().filter(is_available).count() {
        _ if breaker == Some("open") => "down",
        0 => "down",
        _ if breaker == Some("half-open") || !nodes.iter().all(is_up) => "degraded",
        _ => "up",
    }
}

impl NodeRecord {
    fn of(node: &NodeStatus) -> NodeRecord {
        let (state, reason, until) = match &node.skipped {
            None => match node.failed_in_a_row {
                0 => ("up", None, None),
                1 => ("failing", Some("the last call failed".to_owned()), None),
                many => ("failing", Some(format!("the last {many} calls failed")), None),
            },
            Some(Skipped::Ejected { for_another }) => {
                ("ejected", node.ejected_because.as_deref().map(str::to_owned), Some(after(*for_another)))
            }
            Some(Skipped::Down(reason)) => ("down", Some(reason.to_string()), None),
            Some(Skipped::Lagging(_)) => ("lagging", None, None),
            Some(_) => ("drained", None, None),
        };
        let last_error = node.last_error.as_ref();
        NodeRecord {
            last_error: last_error.map(|(text, _)| text.to_string()),
            last_error_at: last_error.map(|(_, ago)| since_1970(SystemTime::now() - *ago)),
            url: node.name.to_string(),
            state,
            reason: reason.or_else(|| node.skipped.as_ref().map(ToString::to_string)),
            until,
            priority: node.priority,
            weight: node.weight,
            calls: node.calls,
            errors: node.failures,
            in_flight: node.in_flight,
            latency_ms: node.latency.map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3),
            lag: node.lag,
            connections: node.connections,
        }
    }
}

/// The moment when this time will have passed, to the second: then it stays the same while it passes.
fn after(time: Duration) -> f64 {
    since_1970(SystemTime::now() + time)
}

/// A moment, to the second.
fn since_1970(moment: SystemTime) -> f64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64().round() * 1e3
}
