//! The report for people: faults in full, then the numbers and what to do.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Finding, Report, count, first};
use crate::check::outcome::shortened;
use crate::check::profile::Verdict;
use crate::check::rules;
use crate::visible::visible;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const VERDICTS: [Verdict; 4] = [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip];

/// The report. It lists all findings if it `is_full`, otherwise failures and warnings. The summary is at the end, where a
/// terminal shows it.
pub(crate) fn table(report: &Report, is_full: bool) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut text, report, is_full);
    text
}

fn write(text: &mut String, report: &Report, is_full: bool) -> fmt::Result {
    writeln!(text, "{BOLD}{}{BOLD:#}, profile {}\n", visible(&report.url), report.profile.name())?;
    let is_listed = |finding: &&Finding| is_full || matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
    for finding in report.findings.iter().filter(is_listed) {
        write_finding(text, finding)?;
    }
    if is_full {
        text.push('\n');
    } else {
        write_skipped(text, report)?;
    }
    write_areas(text, report)?;
    write_first(text, report)?;
    let [passed, warned, failed, skipped] = VERDICTS.map(|verdict| report.count(verdict));
    writeln!(
        text,
        "{} cases in {:.1} s: {passed} passed, {warned} warned, {failed} failed, {skipped} skipped",
        report.findings.len(),
        report.time.as_secs_f64()
    )
}

/// How many of each area passed, failed and were skipped.
fn write_areas(text: &mut String, report: &Report) -> fmt::Result {
    let names = VERDICTS.map(Verdict::name);
    writeln!(
        text,
        "  {DIM}{:<14}{:>6}{:>6}{:>6}{:>6}{DIM:#}",
        "area", names[0], names[1], names[2], names[3]
    )?;
    for (area, findings) in report.areas() {
        write!(text, "  {area:<14}")?;
        for verdict in VERDICTS {
            let count = count(findings, verdict);
            let style = if count == 0 { DIM } else { style(verdict) };
            write!(text, "{style}{count:>6}{style:#}")?;
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(())
}

fn write_first(text: &mut String, report: &Report) -> fmt::Result {
    let first = first(report);
    if first.is_empty() {
        return Ok(());
    }
    writeln!(text, "{BOLD}Fix this first:{BOLD:#}")?;
    for first in first {
        let (finding, gain) = (first.finding, first.gain());
        let wrong = if finding.note.is_empty() { &finding.came } else { &finding.note };
        writeln!(text, "  {BOLD}{}{BOLD:#}: {}", finding.name, visible(&shortened(wrong, 200)))?;
        if !gain.is_empty() {
            writeln!(text, "      {gain}")?;
        }
        if let Some(rule) = finding.rules.first().and_then(|id| rules::find(id)) {
            writeln!(text, "      {DIM}{}: {}{DIM:#}", rule.id, rule.text)?;
        }
    }
    text.push('\n');
    Ok(())
}

/// Why cases were skipped, and how many for each reason.
fn write_skipped(text: &mut String, report: &Report) -> fmt::Result {
    let skipped = reasons(&report.findings);
    if skipped.is_empty() {
        return Ok(());
    }
    writeln!(text, "Skipped:")?;
    for (reason, count) in skipped {
        writeln!(text, "  {count:>3}  {reason}")?;
    }
    text.push('\n');
    Ok(())
}

/// A finding in one line.
pub(crate) fn line(finding: &Finding) -> String {
    let style = style(finding.verdict);
    format!("{style}{:<5}{style:#} {:<28} {}", finding.verdict.name(), finding.name, finding.claim)
}

fn write_finding(text: &mut String, finding: &Finding) -> fmt::Result {
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
        ("got", &finding.came),
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

/// The reasons why cases were skipped, with how many each.
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
