//! The report as one JSON object.

use serde_json::{Value, json};

use super::{Finding, Report, count, first};
use crate::check::profile::Verdict;

/// The report.
pub(crate) fn json(report: &Report) -> Value {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "case": finding.name,
            "area": finding.area,
            "claim": finding.claim,
            "rules": finding.rules,
            "severity": finding.severity.name(),
            "verdict": finding.verdict.name(),
            "sent": finding.sent,
            "expected": finding.expected,
            "got": finding.came,
            "note": finding.note,
            "because": finding.because,
            "ms": u64::try_from(finding.time.as_millis()).unwrap_or(u64::MAX),
        })
    });
    let first = first(report).into_iter().map(|first| {
        json!({
            "case": first.finding.name,
            "note": first.finding.note,
            "skipped": first.skipped,
            "related": first.related,
        })
    });
    let areas = report.areas().map(|(area, findings)| with_counts(json!({ "area": area }), findings));
    let summary = json!({
        "url": report.url,
        "profile": report.profile.name(),
        "ms": u64::try_from(report.time.as_millis()).unwrap_or(u64::MAX),
        "areas": areas.collect::<Vec<_>>(),
        "fixFirst": first.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    });
    with_counts(summary, &report.findings)
}

/// Adds how many cases there are, and how many of them have each verdict.
fn with_counts(mut object: Value, findings: &[Finding]) -> Value {
    object["cases"] = findings.len().into();
    for verdict in [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip] {
        object[verdict.name()] = count(findings, verdict).into();
    }
    object
}
