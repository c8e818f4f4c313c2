//! The text format of Prometheus.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::{CallOutcome, Durations, Family, Kind, Labels, Snapshot};

/// Upper limits of the buckets that are written, in microseconds: those of OpenTelemetry (OBS-R-07), and five below, because most calls
/// take less than five milliseconds.
const LIMITS: [u64; 19] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000,
    1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// Writes everything.
pub(super) fn render(numbers: &Snapshot, families: &[Family]) -> String {
    let mut out = Text(String::new());
    durations(&mut out, numbers);
    out.one("switchboard_calls_in_flight", "gauge", "Calls that have not ended.", numbers.in_flight);
    out.one("switchboard_streams_open", "gauge", "Streams that have not ended.", numbers.streams);
    out.one(
        "switchboard_stream_items_total",
        "counter",
        "Items sent in streams that have ended.",
        numbers.items,
    );
    let open = numbers.sessions.iter().map(|(transport, open, _)| (*transport, *open));
    out.many("switchboard_sessions_open", "gauge", "Sessions that have not ended.", "transport", open);
    let all = numbers.sessions.iter().map(|(transport, _, all)| (*transport, *all));
    out.many("switchboard_sessions_total", "counter", "Sessions that have begun.", "transport", all);
    out.many(
        "switchboard_messages_received_total",
        "counter",
        "Messages received.",
        "kind",
        numbers.messages,
    );
    out.one("switchboard_received_bytes_total", "counter", "Bytes of messages received.", numbers.bytes_in);
    out.one(
        "switchboard_sent_bytes_total",
        "counter",
        "Bytes of responses and stream items sent.",
        numbers.bytes_out,
    );
    let help = "Messages refused before they became calls.";
    out.many("switchboard_refused_total", "counter", help, "reason", numbers.refused.iter().copied());
    let help = "Security events, as in the audit log.";
    out.many("switchboard_security_events_total", "counter", help, "event", numbers.security.iter().copied());
    for family in families {
        out.family(family);
    }
    out.0
}

fn durations(out: &mut Text, numbers: &Snapshot) {
    const NAME: &str = "rpc_server_call_duration_seconds";
    if numbers.methods.is_empty() {
        return;
    }
    out.head(NAME, "histogram", "How long calls took, by method and outcome.");
    for (method, outcomes) in &numbers.methods {
        for (outcome, durations) in outcomes {
            histogram(out, NAME, &labels(method, *outcome), durations);
        }
    }
}

/// The labels of a call, as OpenTelemetry names them. Those that do not apply are left out.
fn labels(method: &str, outcome: CallOutcome) -> String {
    let mut labels = format!(r#"rpc_system_name="jsonrpc",rpc_method="{}""#, escaped(method));
    if let Some(code) = outcome.code() {
        labels.push_str(&format!(r#",rpc_status_code="{}""#, code.0));
    }
    if outcome != CallOutcome::Ok {
        labels.push_str(&format!(r#",error_type="{}""#, outcome.error_type()));
    }
    labels
}

fn histogram(out: &mut Text, name: &str, labels: &str, durations: &Durations) {
    let count = durations.count();
    for limit in LIMITS.map(Duration::from_micros) {
        let up_to = durations.up_to(limit);
        out.line(format_args!("{name}_bucket{{{labels},le=\"{}\"}} {up_to}", limit.as_secs_f64()));
    }
    out.line(format_args!("{name}_bucket{{{labels},le=\"+Inf\"}} {count}"));
    out.line(format_args!("{name}_sum{{{labels}}} {}", durations.sum().as_secs_f64()));
    out.line(format_args!("{name}_count{{{labels}}} {count}"));
}

/// Labels in braces, if there are any.
fn braced(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let labels: Vec<_> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", labels.join(","))
}

/// A label's value. Names of methods are the server's own, but may have any character.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

struct Text(String);

impl Text {
    fn line(&mut self, line: impl Display) {
        // A String takes all that is written to it.
        let _ = writeln!(self.0, "{line}");
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.line(format_args!("{name} {value}"));
    }

    fn family(&mut self, family: &Family) {
        let Family { name, help, kind, read } = family;
        let values = read();
        if !values.is_empty() {
            self.head(name, if *kind == Kind::Counter { "counter" } else { "gauge" }, help);
        }
        for (labels, value) in values {
            self.line(format_args!("{name}{} {value}", braced(&labels)));
        }
    }

    /// A value for each value of a label.
    fn many(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.head(name, kind, help);
        }
        for (of, value) in values {
            self.line(format_args!("{name}{{{label}=\"{}\"}} {value}", escaped(of)));
        }
    }
}
