//! What to fix first: the failures that explain most of the others.

use super::{Finding, Report};
use crate::check::profile::Verdict;

/// How many are named at most.
const MOST: usize = 3;

/// A failure to fix first.
#[derive(Debug)]
pub(crate) struct First<'a> {
    pub(crate) finding: &'a Finding,
    /// How many cases were skipped because of it.
    pub(crate) skipped: usize,
    /// The other failures that break the same rule.
    pub(crate) related: Vec<&'static str>,
}

/// The failures to fix first, the one that explains most at the top. If none explains another, it is the first of several,
/// since the basic cases run first.
pub(crate) fn first(report: &Report) -> Vec<First<'_>> {
    let failed: Vec<&Finding> = report.findings.iter().filter(|it| it.verdict == Verdict::Fail).collect();
    let mut named: Vec<First<'_>> = Vec::new();
    while named.len() < MOST {
        let is_covered = |finding: &Finding| {
            named.iter().any(|it| it.finding.name == finding.name || it.related.contains(&finding.name))
        };
        let open: Vec<&Finding> = failed.iter().copied().filter(|it| !is_covered(it)).collect();
        let weighed = open.iter().map(|finding| weigh(finding, &open, report));
        // The first of those that explain as much.
        let Some(heaviest) = weighed.rev().max_by_key(First::weight) else { break };
        if heaviest.weight() == 0 && (!named.is_empty() || failed.len() == 1) {
            break;
        }
        named.push(heaviest);
    }
    named
}

fn weigh<'a>(finding: &'a Finding, open: &[&Finding], report: &Report) -> First<'a> {
    let skipped = report.findings.iter().filter(|it| it.because == Some(finding.name)).count();
    let is_related = |it: &&&Finding| it.name != finding.name && it.rules.first() == finding.rules.first();
    let related = open.iter().filter(is_related).map(|it| it.name).collect();
    First { finding, skipped, related }
}

impl First<'_> {
    fn weight(&self) -> usize {
        self.skipped + self.related.len()
    }

    /// What fixing it brings, in words.
    pub(crate) fn gain(&self) -> String {
        let cases = |count: usize| if count == 1 { "case" } else { "cases" };
        let skipped = match self.skipped {
            0 => String::new(),
            count => format!("{count} {} skipped because of it", cases(count)),
        };
        let related = match self.related.len() {
            0 => String::new(),
            count => format!(
                "{count} other {} failed by the same rule ({}): {}",
                cases(count),
                self.finding.rules.first().copied().unwrap_or_default(),
                self.related.join(", ")
            ),
        };
        [skipped, related].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::case::Severity;
    use crate::check::profile::Profile;

    fn finding(name: &'static str, rules: &'static [&'static str], verdict: Verdict) -> Finding {
        Finding {
            name,
            area: "requests",
            claim: "",
            rules,
            severity: Severity::Must,
            verdict,
            sent: String::new(),
            expected: String::new(),
            came: String::new(),
            note: String::new(),
            because: None,
            time: Duration::ZERO,
        }
    }

    fn check(findings: Vec<Finding>, expected: &[(&str, &str)]) {
        let report = Report { url: String::new(), profile: Profile::Spec, findings, time: Duration::ZERO };
        let named: Vec<_> = first(&report).iter().map(|it| (it.finding.name, it.gain())).collect();
        let named: Vec<_> = named.iter().map(|(name, gain)| (*name, gain.as_str())).collect();
        assert_eq!(named, expected);
    }

    #[test]
    fn what_explains_most_goes_first() {
        let skip = || Finding { because: Some("c"), ..finding("x", &["R9"], Verdict::Skip) };
        let fail = |name, rules| finding(name, rules, Verdict::Fail);
        check(
            vec![fail("a", &["R1"]), fail("b", &["R1", "R2"]), fail("c", &["R3"]), skip(), skip()],
            &[("c", "2 cases skipped because of it"), ("a", "1 other case failed by the same rule (R1): b")],
        );
    }

    #[test]
    fn of_failures_that_explain_nothing_the_first_is_named() {
        let fail = |name, rules| finding(name, rules, Verdict::Fail);
        check(vec![fail("a", &["R1"]), fail("b", &["R2"])], &[("a", "")]);
        check(vec![fail("a", &["R1"]), finding("b", &["R1"], Verdict::Warn)], &[]);
        check(vec![finding("b", &["R1"], Verdict::Pass)], &[]);
    }
}
