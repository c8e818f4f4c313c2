//! The numbers of a server in words.

use std::time::{Duration, UNIX_EPOCH};

use switchboard::lines::rfc3339;

use super::item::{EndedCall, Info, Stats};
use crate::bench::figures::{bytes, count, rate, time};

/// A latency; `-` if there is none.
pub(super) fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| time(ms * 1e6))
}

/// A duration in its two largest units: `3h 12m`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let units =
        [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    let shown = units[first..].iter().take(2).filter(|(count, _)| *count > 0 || first == 3);
    shown.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

/// The time of day of a moment, in UTC.
pub(super) fn clock(ms: f64) -> String {
    let since = Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default();
    let text = UNIX_EPOCH.checked_add(since).map(rfc3339).unwrap_or_default();
    text.get(11..19).unwrap_or_default().to_owned()
}

/// The server: version, uptime at this moment, listeners, and what is wrong with its files.
pub(super) fn server(info: &Info, now: f64) -> Vec<String> {
    let mut words = vec![format!("switchboard {}", &*info.version)];
    if now > 0.0 {
        words.push(format!("up {}", duration((now - info.started_at) / 1e3)));
    }
    words.extend(info.draining.then(|| "draining".to_owned()));
    words.extend(info.listeners.iter().map(ToString::to_string));
    words.extend(info.config.error.as_ref().map(|error| format!("changed configuration rejected: {error}")));
    words
}

/// All numbers of an interval that are not about one row.
pub(super) fn summary(stats: &Stats) -> Vec<String> {
    let mut words = vec![
        format!("calls/s {}", rate(stats.rate(stats.calls))),
        format!("errors/s {}", rate(stats.rate(stats.failed()))),
    ];
    words.extend(gauges(stats));
    words
}

/// The numbers of an interval that have no graph.
pub(super) fn gauges(stats: &Stats) -> Vec<String> {
    let mut words = Vec::new();
    let latency = &stats.latency;
    for (name, ms) in [("p50", latency.p50_ms), ("p90", latency.p90_ms), ("p99", latency.p99_ms)] {
        words.extend(ms.map(|ms| format!("{name} {}", milliseconds(Some(ms)))));
    }
    words.push(format!("in flight {}", count(stats.in_flight)));
    if stats.waiting > 0 {
        words.push(format!("waiting {}", count(stats.waiting)));
    }
    words.push(format!("streams {}", count(stats.streams)));
    let open: Vec<String> = stats
        .sessions
        .iter()
        .filter(|(_, open)| **open > 0)
        .map(|(transport, open)| format!("{} {}", &**transport, count(*open)))
        .collect();
    if !open.is_empty() {
        words.push(format!("sessions: {}", open.join(", ")));
    }
    words.push(format!("in {}/s", bytes(stats.rate(stats.bytes_in))));
    words.push(format!("out {}/s", bytes(stats.rate(stats.bytes_out))));
    let refused: u64 = stats.refused.values().fold(0, |sum, count| sum.saturating_add(*count));
    if refused > 0 {
        words.push(format!("refused/s {}", rate(stats.rate(refused))));
    }
    words
}

/// How a call ended: the code of its error, or a word.
pub(super) fn outcome(call: &EndedCall) -> String {
    match call.code {
        Some(code) if &*call.outcome == "error" || &*call.outcome == "refused" => {
            format!("{} {code}", &*call.outcome)
        }
        _ => call.outcome.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        assert_eq!(
            [0.4, 59.0, 61.0, 3600.0, 11_520.0, 90_061.0].map(duration),
            ["0s", "59s", "1m 1s", "1h", "3h 12m", "1d 1h"]
        );
    }

    #[test]
    fn impossible_times_do_no_harm() {
        assert_eq!(clock(45_296_000.0), "12:34:56");
        for ms in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(clock(ms), "00:00:00");
        }
        assert!(clock(1e300).len() <= 8);
        assert_eq!(duration(-5.0), "0s");
    }

    #[test]
    fn a_rejected_configuration_is_shown() {
        let json =
            r#"{"version": "1", "config": {"ok": false, "error": "a.toml:3: no\u001b[2J", "hash": "00"}}"#;
        let mut info: Info = serde_json::from_str(json).unwrap();
        let shown = ["switchboard 1", r"changed configuration rejected: a.toml:3: no\u001b[2J"];
        assert_eq!(server(&info, 0.0), shown);
        info.config.error = None;
        assert_eq!(server(&info, 0.0), shown[..1]);
    }

    #[test]
    fn an_error_is_named_by_its_code() {
        let call = |outcome: &str, code| EndedCall { outcome: outcome.into(), code, ..EndedCall::default() };
        assert_eq!(outcome(&call("error", Some(-32601))), "error -32601");
        assert_eq!(outcome(&call("timed-out", Some(-32003))), "timed-out");
        assert_eq!(outcome(&call("ok", None)), "ok");
    }
}
