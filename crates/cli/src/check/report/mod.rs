//! What was found, and the ways to tell it.

mod json;
mod junit;
mod table;

use std::time::Duration;

pub(crate) use json::json;
pub(crate) use junit::junit;
pub(crate) use table::{line, table};

use super::case::Severity;
use super::profile::{Profile, Verdict};

/// What came of one case.
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
    /// Why it was skipped, tolerated, or worse than it looks.
    pub(crate) note: String,
    pub(crate) time: Duration,
}

/// All that was found.
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
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}
