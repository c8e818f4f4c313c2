//! A comparison with an earlier run.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use super::figures::{rate, time};
use super::report::{FORMAT, Latency, Report};
use crate::failure::Failure;

const TITLE: Style = Style::new().bold();
const BETTER: Style = AnsiColor::Green.on_default();
const WORSE: Style = AnsiColor::Red.on_default();

/// What is closer than this to the same is not called better or worse.
const NOISE: f64 = 0.05;

/// The member that every form has.
#[derive(serde::Deserialize)]
struct Form {
    format: u32,
}

/// Reads the report of an earlier run.
pub(crate) fn read(path: &Path) -> Result<Report, Failure> {
    let wrong = |what: String| {
        Failure::usage(format!("cannot read the baseline {}: {what}", path.display()))
            .advise("create one with `switchboard bench … --json > FILE`")
    };
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    // A document of another format may have other members, so the format is checked first.
    let form: Form = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if form.format != FORMAT {
        return Err(wrong(format!("it has format {}, but this program reads format {FORMAT}", form.format)));
    }
    let report: Report = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(report)
}

/// How a run compares to an earlier one, as text.
pub(crate) fn compare(now: &Report, before: &Report) -> String {
    let mut page = String::new();
    // A String takes all that is written to it.
    let written = write_page(&mut page, now, before);
    debug_assert!(written.is_ok());
    page
}

fn write_page(out: &mut String, now: &Report, before: &Report) -> std::fmt::Result {
    writeln!(out, "{TITLE}Compared with the baseline{TITLE:#}")?;
    if (&now.plan, &now.method) != (&before.plan, &before.method) {
        writeln!(out, "  the baseline ran {} with other options or parameters", before.method)?;
    }
    let shown = format!("{} → {} calls/s", rate(before.throughput), rate(now.throughput));
    line(out, "throughput", &shown, now.throughput / before.throughput, false)?;
    for (name, of) in [
        ("p50", (|latency| latency.p50) as fn(&Latency) -> u64),
        ("p90", |latency| latency.p90),
        ("p99", |latency| latency.p99),
        ("p99.9", |latency| latency.p999),
        ("max", |latency| latency.max),
    ] {
        let (Some(was), Some(is)) = (&before.latency, &now.latency) else { continue };
        let (was, is) = (of(was) as f64, of(is) as f64);
        line(out, name, &format!("{} → {}", time(was), time(is)), is / was, true)?;
    }
    Ok(())
}

fn line(out: &mut String, name: &str, shown: &str, ratio: f64, less_is_better: bool) -> std::fmt::Result {
    if !ratio.is_finite() {
        return writeln!(out, "  {name:<12}{shown}");
    }
    let style = match (ratio - 1.0, less_is_better) {
        (change, _) if change.abs() < NOISE => Style::new(),
        (change, true) if change < 0.0 => BETTER,
        (change, false) if change > 0.0 => BETTER,
        _ => WORSE,
    };
    writeln!(out, "  {name:<12}{style}× {ratio:.2}{style:#}  {shown}")
}

#[cfg(test)]
mod tests {
    use super::super::report::report;
    use super::*;

    #[test]
    fn a_comparison_tells_ratios() {
        let before = report();
        let mut now = before.clone();
        now.throughput = before.throughput * 2.0;
        now.latency.as_mut().unwrap().p99 /= 2;
        let page = anstream::adapter::strip_str(&compare(&now, &before)).to_string();
        assert!(page.contains("throughput  × 2.00"), "{page}");
        assert!(page.contains("p99         × 0.50"), "{page}");
        assert!(!page.contains("other options"), "{page}");
    }
}
