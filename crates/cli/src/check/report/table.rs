//! The report for people: what is wrong in full, the rest in numbers.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{Finding, Report};
use crate::check::outcome::shortened;
use crate::check::profile::Verdict;
use crate::layout::visible;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The report. All findings are listed if that is asked for, otherwise those that are not as they should be.
pub(crate) fn table(report: &Report, is_full: bool) -> String {
    let mut text = String::new();
    // A String takes all that is written to it.
    let _ = write(&mut text, report, is_full);
    text
}

fn write(text: &mut String, report: &Report, is_full: bool) -> std::fmt::Result {
    writeln!(text, "{BOLD}{}{BOLD:#} as {}\n", visible(&report.url), report.profile.name())?;
    let mut areas: Vec<&str> = report.findings.iter().map(|finding| finding.area).collect();
    areas.dedup();
    writeln!(text, "  {DIM}{:<14}{:>6}{:>6}{:>6}{:>6}{DIM:#}", "area", "pass", "warn", "fail", "skip")?;
    for area in areas {
        let count = |verdict| {
            let of_area = report.findings.iter().filter(|finding| finding.area == area);
            of_area.filter(|finding| finding.verdict == verdict).count()
        };
        write!(text, "  {area:<14}")?;
        for verdict in [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip] {
            let style = if count(verdict) == 0 { DIM } else { style(verdict) };
            write!(text, "{style}{:>6}{style:#}", count(verdict))?;
        }
        text.push('\n');
    }
    text.push('\n');
    let is_told = |finding: &&Finding| is_full || matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
    for finding in report.findings.iter().filter(is_told) {
        write_finding(text, finding)?;
    }
    let skipped = reasons(&report.findings);
    if !skipped.is_empty() && !is_full {
        writeln!(text, "Skipped:")?;
        for (reason, count) in skipped {
            writeln!(text, "  {count:>3}  {reason}")?;
        }
        text.push('\n');
    }
    let [pass, warn, fail, skip] =
        [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip].map(|verdict| report.count(verdict));
    writeln!(text, "{pass} pass, {warn} warn, {fail} fail, {skip} skip in {:.1} s", report.time.as_secs_f64())
}

/// A finding in one line.
pub(crate) fn line(finding: &Finding) -> String {
    let style = style(finding.verdict);
    format!("{style}{:<5}{style:#} {:<28} {}", finding.verdict.name(), finding.name, finding.claim)
}

fn write_finding(text: &mut String, finding: &Finding) -> std::fmt::Result {
    writeln!(
        text,
        "{} {DIM}[{}, {}]{DIM:#}",
        line(finding),
        finding.rules.join(" "),
        finding.severity.name()
    )?;
    let details = [
        ("sent", &finding.sent),
        ("expected", &finding.expected),
        ("came", &finding.came),
        ("note", &finding.note),
    ];
    if matches!(finding.verdict, Verdict::Fail | Verdict::Warn) {
        for (name, detail) in details.into_iter().filter(|(_, detail)| !detail.is_empty()) {
            writeln!(text, "      {DIM}{name:<9}{DIM:#}{}", visible(&shortened(detail, 400)))?;
        }
        text.push('\n');
    } else if finding.verdict == Verdict::Skip {
        writeln!(text, "      {DIM}{}{DIM:#}", finding.note)?;
    }
    Ok(())
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Pass => AnsiColor::Green.on_default(),
        Verdict::Warn => AnsiColor::Yellow.on_default(),
        Verdict::Fail => AnsiColor::Red.on_default().bold(),
        Verdict::Skip => Style::new().dimmed(),
    }
}

/// Why cases were skipped, and how many for each reason.
fn reasons(findings: &[Finding]) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.verdict == Verdict::Skip) {
        match reasons.iter_mut().find(|(reason, _)| *reason == finding.note) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&finding.note, 1)),
        }
    }
    reasons
}
