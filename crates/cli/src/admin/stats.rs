//! What happened in an interval.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::metrics::{CallOutcome, Durations, Snapshot};
use tokio::time::Instant;

use super::Admin;
use super::health::milliseconds;

/// What rows are about.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum By {
    #[default]
    Method,
    Transport,
    Who,
    Upstream,
}

/// What happened since the previous item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct Stats {
    /// When it was measured, in milliseconds since 1970.
    t: f64,
    /// Length of the interval in seconds.
    seconds: f64,
    /// Calls that ended.
    calls: u64,
    /// Failed calls by code, or by a word if they have none.
    errors: BTreeMap<String, u64>,
    /// Messages that were refused before they became calls, by reason.
    refused: BTreeMap<&'static str, u64>,
    /// Security events by kind.
    security: BTreeMap<&'static str, u64>,
    /// Calls that run now.
    in_flight: u64,
    /// Calls that wait now because too many run.
    waiting: u64,
    /// Sessions that are open now, by transport.
    sessions: BTreeMap<&'static str, u64>,
    /// Streams that are open now.
    streams: u64,
    /// Bytes of messages received.
    bytes_in: u64,
    /// Bytes of responses and items sent.
    bytes_out: u64,
    /// How long calls took.
    latency: Latency,
    /// The same by method, transport, caller or upstream; busiest first.
    rows: Vec<Row>,
}

/// How long calls took. Without calls, there are no percentiles.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Latency {
    /// Half of the calls took no longer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    /// Nine of ten calls took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ms: Option<f64>,
    /// 99 of 100 calls took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    /// Calls in each bucket; `admin/info` has the limits.
    buckets: Vec<u64>,
}

/// A method, a transport, a caller or an upstream.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Row {
    name: String,
    /// Calls that ended.
    calls: u64,
    /// How many of them failed.
    errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
}

/// All numbers at a moment, to find what happened since.
pub(super) struct Moment {
    at: Instant,
    numbers: Snapshot,
    waiting: u64,
    rows: Vec<(String, Durations, u64)>,
}

/// The upper limits of buckets, in milliseconds.
pub(super) fn limits() -> Vec<f64> {
    Durations::limits().map(|limit| limit.as_nanos() as f64 / 1e6).collect()
}

impl Moment {
    pub(super) fn now(admin: &Admin, by: By) -> Moment {
        let numbers = admin.0.metrics.snapshot();
        let rows = match by {
            By::Method => numbers.methods.iter().map(|(name, outcomes)| row(name, outcomes)).collect(),
            By::Transport => admin.0.calls.by_transport(),
            By::Who => admin.0.calls.by_caller(),
            By::Upstream => admin.0.calls.by_upstream(),
        };
        Moment { at: Instant::now(), numbers, waiting: admin.0.queue.waiting(), rows }
    }

    /// What happened between an earlier moment and this one.
    pub(super) fn since(&self, earlier: &Moment) -> Stats {
        let (now, then) = (&self.numbers, &earlier.numbers);
        let before: BTreeMap<_, _> =
            earlier.rows.iter().map(|(name, all, errors)| (name, (all, *errors))).collect();
        let mut rows: Vec<Row> = Vec::new();
        for (name, all, errors) in &self.rows {
            let (all, errors) = match before.get(name) {
                Some((old, old_errors)) => (all.since(old), errors - old_errors),
                None => (all.clone(), *errors),
            };
            let Latency { p50_ms, p90_ms, p99_ms, .. } = Latency::of(&all);
            rows.push(Row { name: name.clone(), calls: all.count(), errors, p50_ms, p90_ms, p99_ms });
        }
        rows.retain(|row| row.calls > 0);
        rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
        let all = total(now).since(&total(then));
        Stats {
            t: milliseconds(SystemTime::now()),
            seconds: (self.at - earlier.at).as_secs_f64(),
            calls: all.count(),
            errors: errors(now, then),
            refused: since(&now.refused, &then.refused),
            security: since(&now.security, &then.security),
            in_flight: now.in_flight,
            waiting: self.waiting,
            sessions: now.sessions.iter().map(|(transport, open, _)| (*transport, *open)).collect(),
            streams: now.streams,
            bytes_in: now.bytes_in - then.bytes_in,
            bytes_out: now.bytes_out - then.bytes_out,
            latency: Latency::of(&all),
            rows,
        }
    }
}

impl Latency {
    fn of(durations: &Durations) -> Latency {
        let quantile = |share| durations.quantile(share).map(ms);
        let buckets = if durations.count() > 0 { durations.buckets().to_vec() } else { Vec::new() };
        Latency { p50_ms: quantile(0.5), p90_ms: quantile(0.9), p99_ms: quantile(0.99), buckets }
    }
}

fn row(name: &str, outcomes: &[(CallOutcome, Durations)]) -> (String, Durations, u64) {
    let mut all = Durations::default();
    outcomes.iter().for_each(|(_, durations)| all.add(durations));
    let failed = outcomes.iter().filter(|(outcome, _)| *outcome != CallOutcome::Ok);
    (name.to_owned(), all, failed.map(|(_, durations)| durations.count()).sum())
}

fn total(numbers: &Snapshot) -> Durations {
    let mut all = Durations::default();
    let outcomes = numbers.methods.iter().flat_map(|(_, outcomes)| outcomes);
    outcomes.for_each(|(_, durations)| all.add(durations));
    all
}

/// Failed calls by code.
fn errors(now: &Snapshot, then: &Snapshot) -> BTreeMap<String, u64> {
    let count = |numbers: &Snapshot| {
        let mut errors: BTreeMap<String, u64> = BTreeMap::new();
        for (outcome, durations) in numbers.methods.iter().flat_map(|(_, outcomes)| outcomes) {
            if *outcome != CallOutcome::Ok {
                *errors.entry(outcome.error_type()).or_default() += durations.count();
            }
        }
        errors
    };
    let (mut errors, before) = (count(now), count(then));
    errors.iter_mut().for_each(|(code, count)| *count -= before.get(code).copied().unwrap_or(0));
    errors.retain(|_, count| *count > 0);
    errors
}

/// Counts since an earlier moment, without zeros.
fn since(now: &[(&'static str, u64)], then: &[(&'static str, u64)]) -> BTreeMap<&'static str, u64> {
    let before = |key| then.iter().find(|(known, _)| *known == key).map_or(0, |(_, count)| *count);
    now.iter().map(|(key, count)| (*key, count - before(*key))).filter(|(_, count)| *count > 0).collect()
}

fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
