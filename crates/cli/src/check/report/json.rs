//! The report as one JSON object.

use serde_json::{Value, json};

use super::Report;
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
            "came": finding.came,
            "note": finding.note,
            "ms": u64::try_from(finding.time.as_millis()).unwrap_or(u64::MAX),
        })
    });
    json!({
        "url": report.url,
        "profile": report.profile.name(),
        "pass": report.count(Verdict::Pass),
        "warn": report.count(Verdict::Warn),
        "fail": report.count(Verdict::Fail),
        "skip": report.count(Verdict::Skip),
        "ms": u64::try_from(report.time.as_millis()).unwrap_or(u64::MAX),
        "findings": findings.collect::<Vec<_>>(),
    })
}
