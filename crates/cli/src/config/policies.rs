//! How calls are forwarded: the keys that upstreams and routes have in common.

use std::time::Duration;

use super::faults::Fault;
use super::reader::{Reader, text, time};
use super::tree::{Node, Value};
use crate::suggest::did_you_mean;

/// What is set at an upstream or a route. None is not set there; `Some(None)` is switched off.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PolicyConfig {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_reply: Option<usize>,
    pub(crate) retry: Option<RetryConfig>,
    pub(crate) hedge: Option<Option<Hedge>>,
    pub(crate) cache: Option<Option<CacheConfig>>,
    pub(crate) shared: Option<bool>,
    pub(crate) coalesce: Option<bool>,
    pub(crate) merge: Option<Option<MergeConfig>>,
    pub(crate) mirror: Option<Option<MirrorConfig>>,
    pub(crate) fault: Option<Option<FaultConfig>>,
}

/// Further attempts for calls of safe methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RetryConfig {
    pub(crate) attempts: u32,
    /// Retries as a share of all calls, from 0.0 to 1.0.
    pub(crate) budget: f64,
    /// How long an attempt may take that can be repeated.
    pub(crate) timeout: Option<Duration>,
}

/// When a call of a safe method is sent to a second node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hedge {
    After(Duration),
    /// If it is slower than this share of the calls, from 1 to 99.
    Percentile(u8),
}

/// Which answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheConfig {
    pub(crate) ttl: Duration,
    /// Zero does not use stale answers.
    pub(crate) stale: Duration,
    pub(crate) size: usize,
    /// Whether the result null is kept.
    pub(crate) null: bool,
    /// Whether servers with the same store share answers.
    pub(crate) store: bool,
    /// How long errors are kept, by code.
    pub(crate) errors: Vec<(i64, Duration)>,
    pub(crate) clear_on: Vec<String>,
}

/// Equal subscriptions become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergeConfig {
    /// Whether subscribers that join later get the last item.
    pub(crate) last: bool,
}

/// Another upstream gets copies of calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MirrorConfig {
    pub(crate) upstream: String,
    /// From 0.0 to 1.0.
    pub(crate) traffic: f64,
    pub(crate) diff: bool,
}

/// Faults to inject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FaultConfig {
    pub(crate) delay: Option<Duration>,
    pub(crate) error: Option<i64>,
    pub(crate) cut: bool,
    /// From 0.0 to 1.0.
    pub(crate) traffic: f64,
}

/// The names of all upstreams.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpstreamNames(Vec<String>);

impl UpstreamNames {
    /// The names in the whole configuration.
    pub(super) fn of(reader: &Reader<'_>) -> UpstreamNames {
        match reader.table.get("upstream").map(|node| &node.value) {
            Some(Value::Table(table)) => {
                UpstreamNames(table.0.iter().map(|entry| entry.name.clone()).collect())
            }
            _ => UpstreamNames::default(),
        }
    }

    /// Reports a name that no upstream has.
    pub(super) fn check(&self, reader: &mut Reader<'_>, name: &str, node: &Node) {
        if self.0.iter().any(|known| known == name) {
            return;
        }
        let advice = did_you_mean(name, self.0.iter().map(String::as_str))
            .unwrap_or_else(|| format!("add [upstream.{name}]"));
        reader.faults.push(Fault::new(node.place.clone(), format!("no upstream is named `{name}`"), advice));
    }
}

/// Reads the policies of an upstream or a route.
pub(super) fn policy(reader: &mut Reader<'_>, names: &UpstreamNames) -> PolicyConfig {
    let none = RetryConfig { attempts: 0, budget: 0.0, timeout: None };
    PolicyConfig {
        timeout: optional_time(reader, "timeout"),
        max_reply: reader.is_set("max_reply").then(|| reader.size("max_reply")),
        retry: reader.form("retry", retry).map(|retry| retry.unwrap_or(none)),
        hedge: reader.one("hedge", hedge),
        cache: reader.form("cache", cache),
        shared: reader.is_set("shared").then(|| reader.flag("shared")),
        coalesce: reader.is_set("coalesce").then(|| reader.flag("coalesce")),
        merge: reader.form("merge", |reader| Some(MergeConfig { last: reader.flag("last") })),
        mirror: reader.form("mirror", |reader| mirror(reader, names)),
        fault: reader.form("fault", fault),
    }
}

/// A duration, if it is set.
pub(super) fn optional_time(reader: &mut Reader<'_>, name: &str) -> Option<Duration> {
    reader.is_set(name).then(|| reader.duration(name))
}

fn retry(reader: &mut Reader<'_>) -> Option<RetryConfig> {
    let timeout = optional_time(reader, "timeout");
    Some(RetryConfig { attempts: reader.whole("attempts")?, budget: reader.percent("budget"), timeout })
}

fn hedge(node: &Node) -> Result<Option<Hedge>, String> {
    const ADVICE: &str = "write a time such as \"50ms\", a percentile from \"p1\" to \"p99\", or false";
    if matches!(node.value, Value::Flag(false)) {
        return Ok(None);
    }
    let written = text(node).map_err(|_| ADVICE)?;
    let percentile = written.strip_prefix('p').and_then(|number| number.parse::<u8>().ok());
    match percentile.filter(|number| (1..=99).contains(number)) {
        Some(number) => Ok(Some(Hedge::Percentile(number))),
        None => time(node).map(|time| Some(Hedge::After(time))).map_err(|_| ADVICE.to_owned()),
    }
}

fn cache(reader: &mut Reader<'_>) -> Option<CacheConfig> {
    if !reader.is_set("ttl") {
        reader.missing("ttl", "\"10s\"");
    }
    let code = |name: &str| {
        name.parse::<i64>().map_err(|_| "write an error code, such as -32601 = \"1m\"".to_owned())
    };
    Some(CacheConfig {
        ttl: reader.duration("ttl"),
        stale: optional_time(reader, "stale").unwrap_or_default(),
        size: reader.size("size"),
        null: reader.flag("null"),
        store: reader.flag("store"),
        errors: reader.pairs("errors", code, time),
        clear_on: reader.texts("clear_on"),
    })
}

fn mirror(reader: &mut Reader<'_>, names: &UpstreamNames) -> Option<MirrorConfig> {
    let upstream = reader.text("upstream");
    match (&upstream, reader.table.get("upstream").cloned()) {
        (Some(name), Some(node)) => names.check(reader, name, &node),
        (_, None) => reader.missing("upstream", "\"NAME\""),
        _ => {}
    }
    let (traffic, diff) = (reader.percent("traffic"), reader.flag("diff"));
    Some(MirrorConfig { upstream: upstream?, traffic, diff })
}

fn fault(reader: &mut Reader<'_>) -> Option<FaultConfig> {
    let delay = optional_time(reader, "delay");
    let fault = FaultConfig {
        delay,
        error: reader.code("error"),
        cut: reader.flag("cut"),
        traffic: reader.percent("traffic"),
    };
    if !["delay", "error", "cut"].into_iter().any(|key| reader.is_set(key)) {
        let title = format!("`{}` has no fault", reader.path);
        let advice = "add delay = \"1s\", error = -32000 or cut = true";
        reader.faults.push(Fault::new(reader.at.clone(), title, advice));
    }
    Some(fault)
}
