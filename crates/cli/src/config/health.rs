//! How the nodes of an upstream are watched, and when they get no calls.

use std::time::Duration;

use switchboard::access::Pointer;

use super::reader::{Reader, text};
use super::tree::Node;

/// How nodes are checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HealthConfig {
    /// None connects and calls nothing.
    pub(crate) method: Option<String>,
    pub(crate) every: Duration,
    pub(crate) timeout: Duration,
    /// Failures in a row until a node is unhealthy.
    pub(crate) fail: u32,
    /// Successes in a row until it is healthy again.
    pub(crate) pass: u32,
    pub(crate) max_lag: Option<u64>,
    /// Where the value is in the result; none is the whole result.
    pub(crate) value: Option<Pointer>,
}

/// When a node gets no calls for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EjectConfig {
    /// The share of failed calls, from 0.0 to 1.0.
    pub(crate) errors: f64,
    /// How many times the median latency.
    pub(crate) latency: f64,
    pub(crate) time: Duration,
    /// The share of the nodes that may be ejected at once, from 0.0 to 1.0.
    pub(crate) most: f64,
}

/// When an upstream gets no calls for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BreakerConfig {
    /// The share of failed calls, from 0.0 to 1.0.
    pub(crate) errors: f64,
    pub(crate) open: Duration,
}

pub(super) fn health(reader: &mut Reader<'_>) -> Option<HealthConfig> {
    let method = reader.text("method");
    if method.is_none() {
        for key in ["max_lag", "value"] {
            reader.needs(key, "a method", "add method = \"METHOD\", whose result has the value");
        }
    }
    Some(HealthConfig {
        method,
        every: reader.duration("every"),
        timeout: reader.duration("timeout"),
        fail: number(reader, "fail"),
        pass: number(reader, "pass"),
        max_lag: reader.whole("max_lag"),
        value: reader.one_parsed("value"),
    })
}

pub(super) fn eject(reader: &mut Reader<'_>) -> Option<EjectConfig> {
    Some(EjectConfig {
        errors: reader.percent("errors"),
        latency: reader.one("latency", factor).unwrap_or(f64::MAX),
        time: reader.duration("time"),
        most: reader.percent("most"),
    })
}

pub(super) fn breaker(reader: &mut Reader<'_>) -> Option<BreakerConfig> {
    Some(BreakerConfig { errors: reader.percent("errors"), open: reader.duration("open") })
}

/// A whole number, 1 or more.
pub(super) fn number(reader: &mut Reader<'_>, name: &str) -> u32 {
    reader.count(name).map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// How many times as much, such as `3x`.
fn factor(node: &Node) -> Result<f64, String> {
    let factor = text(node)?.strip_suffix('x').and_then(|number| number.parse::<f64>().ok());
    factor
        .filter(|factor| *factor >= 1.0 && factor.is_finite())
        .ok_or_else(|| "write a factor of 1 or more, such as \"3x\"".to_owned())
}
