//! A report on a terminal: figures, a histogram and the throughput over time.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::figures::{bytes, count, rate, time};
use super::report::{Latency, Report};
use crate::visible::visible;

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAR: Style = AnsiColor::Cyan.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Columns of the longest bar.
const BAR_WIDTH: f64 = 40.0;
/// Columns of the throughput over time.
const SPARK_WIDTH: usize = 60;

/// The report as a page of text.
pub(crate) fn of(report: &Report) -> String {
    let mut page = String::new();
    // A String takes all that is written to it.
    let written = write_page(&mut page, report);
    debug_assert!(written.is_ok());
    page
}

fn write_page(out: &mut String, report: &Report) -> std::fmt::Result {
    let ended = match report {
        report if report.is_interrupted => ", interrupted",
        report if report.is_stopped_early => ", stopped early: every call failed",
        _ => "",
    };
    writeln!(out, "{TITLE}{}{TITLE:#} at {}", visible(&report.method), visible(&report.url))?;
    writeln!(out, "{DIM}{}{ended}{DIM:#}\n", setup(report))?;
    summary(out, report)?;
    latency(out, report)?;
    histogram(out, report)?;
    throughput(out, report)?;
    errors(out, report)?;
    pacing(out, report)
}

/// How the run was set up, in a line.
fn setup(report: &Report) -> String {
    let plan = &report.plan;
    let mut text = format!("{} × {} in flight", counted(plan.connections as u64, "connection"), plan.depth);
    if plan.batch > 1 {
        text.push_str(&format!(", batches of {}", plan.batch));
    }
    match (plan.http2, plan.pipeline) {
        (true, _) => text.push_str(", HTTP/2"),
        (_, true) => text.push_str(", pipelined"),
        _ => {}
    }
    match plan.rate {
        Some(wanted) => text.push_str(&format!(", {} calls/s scheduled", rate(wanted))),
        None => text.push_str(", as fast as possible"),
    }
    if plan.warm_up > 0.0 {
        text.push_str(&format!(", warmed up for {}", time(plan.warm_up * 1e9)));
    }
    text
}

fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{} {what}s", count(number)) }
}

fn summary(out: &mut String, report: &Report) -> std::fmt::Result {
    let seconds = report.seconds.max(f64::MIN_POSITIVE);
    let under_way = match report.under_way {
        0 => String::new(),
        calls => format!(", {} still in flight at the end", count(calls)),
    };
    let seconds_told = time(report.seconds * 1e9);
    writeln!(out, "  {:<12}{} in {seconds_told}{under_way}", "calls", count(report.calls))?;
    let errors = if report.errors.total > 0 { ", including errors" } else { "" };
    writeln!(out, "  {:<12}{TITLE}{}{TITLE:#} calls/s{errors}", "throughput", rate(report.throughput))?;
    if report.items > 0 {
        let each = rate(report.items as f64 / seconds);
        writeln!(out, "  {:<12}{} in streams, {each} per second", "items", count(report.items))?;
    }
    let (sent, received) = (report.bytes.sent as f64, report.bytes.received as f64);
    writeln!(
        out,
        "  {:<12}{} sent ({}/s), {} received ({}/s), on the wire\n",
        "bytes",
        bytes(sent),
        bytes(sent / seconds),
        bytes(received),
        bytes(received / seconds)
    )
}

fn latency(out: &mut String, report: &Report) -> std::fmt::Result {
    let Some(latency) = &report.latency else { return Ok(()) };
    let from = match report.plan.rate {
        Some(_) => "from when each call was scheduled",
        None => "from when each call was sent",
    };
    let of = if report.plan.batch > 1 { "of a batch, " } else { "" };
    writeln!(out, "{TITLE}Latency{TITLE:#} {DIM}{of}{from}{DIM:#}")?;
    let figures = [
        ("min", latency.min as f64),
        ("mean", latency.mean),
        ("p50", latency.p50 as f64),
        ("p90", latency.p90 as f64),
        ("p99", latency.p99 as f64),
        ("p99.9", latency.p999 as f64),
        ("max", latency.max as f64),
    ];
    for (name, _) in figures {
        write!(out, "  {name:>9}")?;
    }
    writeln!(out)?;
    for (_, value) in figures {
        write!(out, "  {:>9}", time(value))?;
    }
    writeln!(out, "\n")
}

/// One bar a range of latencies. The ranges grow, so that a long tail has room.
fn histogram(out: &mut String, report: &Report) -> std::fmt::Result {
    let Some(Latency { histogram: ranges, .. }) = &report.latency else { return Ok(()) };
    let most = ranges.iter().map(|(_, _, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    let total: u64 = ranges.iter().map(|(_, _, count)| *count).sum();
    for (from, to, found) in ranges {
        let share = *found as f64 / total as f64 * 100.0;
        let bar = bar(*found as f64 / most as f64 * BAR_WIDTH);
        let shown = if *found == 0 { String::new() } else { format!("{} ({share:.1} %)", count(*found)) };
        writeln!(out, "  {:>9} … {:>8}  {BAR}{bar}{BAR:#} {shown}", time(*from as f64), time(*to as f64))?;
    }
    writeln!(out)
}

/// A bar of this many columns, in eighths. What is there is seen.
fn bar(columns: f64) -> String {
    const PARTS: [char; 8] = ['▏', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let mut bar = "█".repeat(columns as usize);
    let rest = columns.fract();
    if rest > 0.0625 || (columns > 0.0 && bar.is_empty()) {
        bar.push(PARTS[(rest * 8.0) as usize]);
    }
    bar
}

fn throughput(out: &mut String, report: &Report) -> std::fmt::Result {
    let rates = report.rates();
    if rates.len() < 2 {
        return Ok(());
    }
    let most = rates.iter().copied().fold(0.0, f64::max);
    let each = rates.len().div_ceil(SPARK_WIDTH);
    let spark: String = rates
        .chunks(each)
        .map(|chunk| spark(chunk.iter().sum::<f64>() / chunk.len() as f64 / most.max(f64::MIN_POSITIVE)))
        .collect();
    writeln!(out, "{TITLE}Throughput{TITLE:#} {DIM}over time, up to {} calls/s{DIM:#}", rate(most))?;
    writeln!(out, "  {BAR}{spark}{BAR:#}\n")
}

fn spark(share: f64) -> char {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    LEVELS[(share * 8.0).round().clamp(0.0, 8.0) as usize]
}

fn errors(out: &mut String, report: &Report) -> std::fmt::Result {
    let errors = &report.errors;
    if errors.total > 0 {
        writeln!(out, "{BAD}Errors{BAD:#} {} of {} calls", count(errors.total), count(report.calls))?;
        for rejected in &errors.by_code {
            let message = visible(&rejected.message);
            writeln!(out, "  {:>10} × {} {message}", count(rejected.count), rejected.code)?;
        }
        for failed in &errors.by_kind {
            let first = if failed.first.is_empty() { String::new() } else { format!(": {}", failed.first) };
            writeln!(out, "  {:>10} × {}{}", count(failed.count), failed.describe(), visible(&first))?;
        }
        if let Some(hint) = report.hint() {
            writeln!(out, "{WARNING}{hint}{WARNING:#}")?;
        }
        writeln!(out)?;
    }
    if report.reconnects > 0 {
        let times = count(report.reconnects);
        writeln!(out, "{WARNING}Reconnects: {times}{WARNING:#}\n")?;
    }
    Ok(())
}

/// How well the schedule was kept, if there is something to report.
fn pacing(out: &mut String, report: &Report) -> std::fmt::Result {
    let Some(pacing) = &report.pacing else { return Ok(()) };
    if pacing.held_back > 0 {
        writeln!(
            out,
            "{WARNING}{} waited for a free slot{WARNING:#}, which their latencies include: the server did not keep up with \
             {} calls/s over {} × {}",
            counted(pacing.held_back, "message"),
            rate(report.plan.rate.unwrap_or_default()),
            counted(report.plan.connections as u64, "connection"),
            report.plan.depth
        )?;
    }
    if pacing.unsent > 0 {
        writeln!(
            out,
            "{WARNING}{} scheduled but never sent{WARNING:#}: the run ended first",
            counted(pacing.unsent, "call")
        )?;
    }
    if pacing.late > 0 {
        writeln!(
            out,
            "{WARNING}{} sent late by this program{WARNING:#}, by up to {}: use more `--threads` or a lower `--rate`",
            counted(pacing.late, "message"),
            time(pacing.worst as f64)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::report::report;
    use super::*;

    #[test]
    fn a_page_shows_figures_plots_and_errors() {
        let page = anstream::adapter::strip_str(&of(&report())).to_string();
        for part in [
            "math/add at tcp://127.0.0.1:1",
            "1 connection × 1 in flight, 1,000 calls/s scheduled",
            "from when each call was scheduled",
            "    p99.9",
            "█",
            "1 × -32601 Method not found",
            "1 × no answer in time",
            "7 calls scheduled but never sent",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
    }

    #[test]
    fn a_bar_shows_even_a_little() {
        assert_eq!([0.0, 0.01, 1.0, 1.5, 3.9].map(bar), ["", "▏", "█", "█▌", "███▉"]);
    }
}
