//! The findings, and the formats they are reported in.

mod first;
mod json;
mod junit;
mod table;

use std::time::Duration;

pub(crate) use first::{First, first};
pub(crate) use json::json;
pub(crate) use junit::junit;
pub(crate) use table::{line, table};

use super::case::Severity;
use super::profile::{Profile, Verdict};

/// The result of one case.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) name: &'static str,
    pub(crate) area: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) rules: &'static [&'static str],
    pub(crate) severity: Severity,
    pub(crate) verdict: Verdict,
    pub(crate) sent: String,
    pub(crate) expected: String,
    pub(crate) came: String,
    /// What is wrong with the answer, or why it was accepted or skipped.
    pub(crate) note: String,
    /// The case whose failure explains this one, which is skipped then.
    pub(crate) because: Option<&'static str>,
    pub(crate) time: Duration,
}

/// All findings.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) url: String,
    pub(crate) profile: Profile,
    pub(crate) findings: Vec<Finding>,
    pub(crate) time: Duration,
}

impl Report {
    /// How many have this verdict.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        count(&self.findings, verdict)
    }

    /// The findings of each area, in the order in which they were made.
    pub(crate) fn areas(&self) -> impl Iterator<Item = (&'static str, &[Finding])> {
        let areas = self.findings.chunk_by(|a, b| a.area == b.area);
        areas.map(|findings| (findings[0].area, findings))
    }
}

/// How many of these have this verdict.
pub(crate) fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings.iter().filter(|finding| finding.verdict == verdict).count()
}

impl Finding {
    /// The same, skipped because of another case's fault.
    pub(crate) fn explained(self, fault: &'static str, note: String) -> Finding {
        Finding { verdict: Verdict::Skip, note, because: Some(fault), ..self }
    }
}
