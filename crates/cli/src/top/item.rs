//! What an admin listener sends: the server, what happened in an interval, and calls that have ended.
//!
//! The listener may be of another version, so members that are missing have a default.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Deserializer};

use crate::visible::visible;

/// A text that a server or a caller chose, without anything that could control the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text(String);

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(visible(text))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        String::deserialize(deserializer).map(|text| Text::from(text.as_str()))
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The server: the result of `admin/info`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Info {
    pub(super) version: Text,
    /// In milliseconds since 1970.
    pub(super) started_at: f64,
    pub(super) draining: bool,
    pub(super) listeners: Vec<Text>,
    pub(super) config: Configuration,
    /// Upper limits of the latency buckets, in milliseconds.
    pub(super) buckets_ms: Vec<f64>,
}

/// The configuration of the server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    /// Why the changed files were rejected, if they were.
    pub(super) error: Option<Text>,
}

/// What happened in an interval: an item of `admin/stats`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Stats {
    /// When it was measured, in milliseconds since 1970.
    pub(super) t: f64,
    pub(super) seconds: f64,
    pub(super) calls: u64,
    pub(super) errors: BTreeMap<Text, u64>,
    pub(super) refused: BTreeMap<Text, u64>,
    pub(super) in_flight: u64,
    pub(super) waiting: u64,
    pub(super) sessions: BTreeMap<Text, u64>,
    pub(super) streams: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) latency: Latency,
    pub(super) rows: Vec<Row>,
}

/// How long calls took, in milliseconds. Without calls there are no percentiles.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Latency {
    pub(super) p50_ms: Option<f64>,
    pub(super) p90_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
    pub(super) buckets: Vec<u64>,
}

/// A method, a transport or a caller in an interval.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Row {
    pub(super) name: Text,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) p50_ms: Option<f64>,
    pub(super) p90_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
}

/// A call that has ended: an item of `admin/calls`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EndedCall {
    pub(super) id: u64,
    /// When it ended, in milliseconds since 1970.
    pub(super) t: f64,
    pub(super) transport: Text,
    pub(super) peer: Option<Text>,
    pub(super) who: Option<Text>,
    pub(super) method: Text,
    pub(super) outcome: Text,
    pub(super) code: Option<i64>,
    pub(super) ms: f64,
}

impl Stats {
    /// A count of the interval as a rate per second.
    pub(super) fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    /// How many calls failed.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_callers_chose_cannot_control_the_terminal() {
        let json = r#"{"method": "\u001b[2Jx\u202e", "who": "a\nb"}"#;
        let call: EndedCall = serde_json::from_str(json).unwrap();
        assert_eq!(&*call.method, r"\u001b[2Jx\u202e");
        assert_eq!(call.who.as_deref(), Some(r"a\u000ab"));
    }

    #[test]
    fn unknown_and_missing_members_do_no_harm() {
        let stats: Stats = serde_json::from_str(r#"{"calls": 3, "news": [], "latency": {}}"#).unwrap();
        assert_eq!((stats.calls, stats.rate(3)), (3, 0.0));
    }
}
