//! Numbers about upstreams, for Prometheus and OpenTelemetry. They are counted where calls pass anyway, and read when they are asked for.

use std::sync::atomic::Ordering;

use switchboard::gateway::{Breaker, MirrorCounts, NodeStatus};
use switchboard::metrics::{Labels, Metrics};

use super::{Gated, Upstream};

/// Adds the numbers of all upstreams. Names of upstreams and servers come from the configuration, so callers cannot add series.
pub(crate) fn metered(metrics: Metrics, gated: &Gated) -> Metrics {
    let metrics = metrics
        .with_counters(
            "switchboard_upstream_calls_total",
            "Calls sent to a server of an upstream, including retries and hedges.",
            by_node(gated, |node| Some(node.calls as f64)),
        )
        .with_counters(
            "switchboard_upstream_errors_total",
            "Calls to a server of an upstream that failed. Errors that methods return do not count.",
            by_node(gated, |node| Some(node.failures as f64)),
        )
        .with_gauges(
            "switchboard_upstream_calls_in_flight",
            "Calls to a server of an upstream that have not ended.",
            by_node(gated, |node| Some(f64::from(node.in_flight))),
        )
        .with_gauges(
            "switchboard_upstream_latency_seconds",
            "How long answers of a server of an upstream take, as a moving average.",
            by_node(gated, |node| node.latency.map(|latency| latency.as_secs_f64())),
        )
        .with_gauges(
            "switchboard_upstream_node_available",
            "Whether a server of an upstream gets calls.",
            by_node(gated, |node| Some(f64::from(u8::from(node.skipped.is_none())))),
        )
        .with_gauges(
            "switchboard_upstream_connections",
            "Connections to a server of an upstream, or processes.",
            by_node(gated, |node| Some(node.connections? as f64)),
        );
    policies(metrics, gated)
}

/// The numbers of upstreams as a whole.
fn policies(metrics: Metrics, gated: &Gated) -> Metrics {
    let breaker = |read: fn(&Breaker) -> f64| {
        by_upstream(gated, move |upstream| {
            upstream.breaker.as_ref().map(read).map(unlabelled).into_iter().collect()
        })
    };
    metrics
        .with_counters(
            "switchboard_upstream_retries_total",
            "Calls to an upstream that were sent again after a failure.",
            by_upstream(gated, |upstream| vec![unlabelled(upstream.pool.retries() as f64)]),
        )
        .with_counters(
            "switchboard_upstream_hedges_total",
            "Calls to an upstream that were sent to a second server because the first was slow.",
            by_upstream(gated, |upstream| vec![unlabelled(upstream.pool.hedges() as f64)]),
        )
        .with_gauges(
            "switchboard_upstream_breaker_open",
            "Whether the breaker of an upstream refuses calls.",
            breaker(|breaker| f64::from(u8::from(breaker.is_open()))),
        )
        .with_counters(
            "switchboard_upstream_refused_total",
            "Calls that the breaker of an upstream refused.",
            breaker(|breaker| breaker.refused() as f64),
        )
        .with_counters(
            "switchboard_upstream_cache_total",
            "Cache lookups of an upstream, by result.",
            by_upstream(gated, |upstream| {
                let of = |result: &str, count: u64| (vec![("result", result.to_owned())], count as f64);
                let numbers = upstream.cache().into_iter();
                let counts = numbers.flat_map(|numbers| {
                    [of("hit", numbers.hits), of("stale", numbers.stale_hits), of("miss", numbers.misses)]
                });
                counts.collect()
            }),
        )
        .with_counters(
            "switchboard_upstream_mirror_total",
            "Copies of calls that were sent to a mirror, by what became of them.",
            by_upstream(gated, mirrored),
        )
        .with_gauges(
            "switchboard_upstream_cache_bytes",
            "How large the cache of an upstream is.",
            by_upstream(gated, |upstream| {
                upstream.cache().map(|numbers| unlabelled(numbers.bytes as f64)).into_iter().collect()
            }),
        )
}

/// What became of the copies of calls, if there are any.
fn mirrored(upstream: &Upstream) -> Vec<(Labels, f64)> {
    let MirrorCounts { same, different, not_compared, timed_out, left_out, .. } = &*upstream.mirrored;
    let counts = [
        ("same", same),
        ("different", different),
        ("not_compared", not_compared),
        ("timed_out", timed_out),
        ("left_out", left_out),
    ];
    let counts = counts.map(|(result, count)| (result, count.load(Ordering::Relaxed)));
    let is_used = upstream.policy.mirror.is_some() || counts.iter().any(|(_, count)| *count > 0);
    let labelled = |(result, count): (&str, u64)| (vec![("result", result.to_owned())], count as f64);
    if is_used { counts.map(labelled).to_vec() } else { Vec::new() }
}

fn unlabelled(value: f64) -> (Labels, f64) {
    (Labels::new(), value)
}

/// Numbers of each upstream, which get its name as a label.
fn by_upstream(
    gated: &Gated,
    read: impl Fn(&Upstream) -> Vec<(Labels, f64)> + Send + Sync + 'static,
) -> impl Fn() -> Vec<(Labels, f64)> + Send + Sync + 'static {
    let gated = gated.clone();
    move || {
        let named = |upstream: &Upstream| {
            let name = upstream.name.clone();
            read(upstream).into_iter().map(move |(mut labels, value)| {
                labels.insert(0, ("upstream", name.clone()));
                (labels, value)
            })
        };
        gated.upstreams().iter().flat_map(named).collect()
    }
}

/// A number of each server of each upstream.
fn by_node(
    gated: &Gated,
    read: fn(&NodeStatus) -> Option<f64>,
) -> impl Fn() -> Vec<(Labels, f64)> + Send + Sync + 'static {
    by_upstream(gated, move |upstream| {
        let nodes = upstream.pool.status().into_iter();
        nodes.filter_map(|node| Some((vec![("node", node.name.to_string())], read(&node)?))).collect()
    })
}
