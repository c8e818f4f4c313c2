//! A report as a picture: latency by percentile, and throughput over time. One file that needs nothing else, for light
//! and dark pages.

use std::fmt::Write;

use super::figures::{count, rate, time};
use super::report::{Latency, Report};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 620.0;
/// The edges of both plots.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 736.0;

const STYLE: &str = "\
svg { color-scheme: light dark; background: #fff; font: 13px system-ui, sans-serif }
text { fill: #333 } .title { font-size: 16px; font-weight: 600 } .dim { fill: #767676 }
.grid { stroke: #ddd } .line { stroke: #0b7285; stroke-width: 2; fill: none } .area { fill: #0b728522 } .dot { fill: #0b7285 }
@media (prefers-color-scheme: dark) {
svg { background: #16181c } text { fill: #ddd } .dim { fill: #8b949e } .grid { stroke: #333 }
.line { stroke: #3bc9db } .area { fill: #3bc9db2a } .dot { fill: #3bc9db }
}";

/// The report as an SVG document.
pub(crate) fn of(report: &Report) -> String {
    let mut picture = String::new();
    // A String takes all that is written to it.
    let written = write_picture(&mut picture, report);
    debug_assert!(written.is_ok());
    picture
}

fn write_picture(out: &mut String, report: &Report) -> std::fmt::Result {
    let title = escaped(&format!("{} at {}", report.method, report.url));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">"
    )?;
    writeln!(out, "<title>{title}</title>\n<style>{STYLE}</style>")?;
    writeln!(out, "<text class=\"title\" x=\"24\" y=\"30\">{title}</text>")?;
    let summary = format!(
        "{} calls, {} calls/s, {} errors",
        count(report.calls),
        rate(report.throughput),
        count(report.errors.total)
    );
    writeln!(out, "<text class=\"dim\" x=\"24\" y=\"50\">{summary}</text>")?;
    latency(out, report, &Plot { top: 96.0, bottom: 300.0 })?;
    throughput(out, report, &Plot { top: 388.0, bottom: 570.0 })?;
    writeln!(out, "</svg>")
}

/// Where one plot is.
struct Plot {
    top: f64,
    bottom: f64,
}

impl Plot {
    fn x(share: f64) -> f64 {
        LEFT + share * (RIGHT - LEFT)
    }

    fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    fn heading(&self, out: &mut String, text: &str) -> std::fmt::Result {
        writeln!(out, "<text x=\"24\" y=\"{:.1}\">{text}</text>", self.top - 16.0)
    }

    fn row(&self, out: &mut String, share: f64, label: &str) -> std::fmt::Result {
        let y = self.y(share);
        writeln!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>")?;
        let (x, y) = (LEFT - 8.0, y + 4.0);
        writeln!(out, "<text class=\"dim\" text-anchor=\"end\" x=\"{x}\" y=\"{y:.1}\">{label}</text>")
    }

    fn column(&self, out: &mut String, share: f64, label: &str) -> std::fmt::Result {
        let (x, y) = (Plot::x(share), self.bottom + 20.0);
        writeln!(out, "<text class=\"dim\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>")
    }

    /// A line through these points, which are shares of the plot.
    fn line(&self, out: &mut String, points: &[(f64, f64)], is_filled: bool) -> std::fmt::Result {
        let path: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.1} {:.1}", Plot::x(*x), self.y(*y))).collect();
        let path = path.join(" L");
        if let (true, Some(first), Some(last)) = (is_filled, points.first(), points.last()) {
            let (from, to, bottom) = (Plot::x(first.0), Plot::x(last.0), self.bottom);
            writeln!(out, "<path class=\"area\" d=\"M{from:.1} {bottom} L{path} L{to:.1} {bottom} Z\"/>")?;
        }
        writeln!(out, "<path class=\"line\" d=\"M{path}\"/>")
    }
}

/// Latency by percentile. Each nine of the percentile takes as much room as the one before it.
fn latency(out: &mut String, report: &Report, plot: &Plot) -> std::fmt::Result {
    let from = if report.plan.rate.is_some() { "scheduled" } else { "sent" };
    plot.heading(out, &format!("Latency by percentile, from when each call was {from}"))?;
    let Some(Latency { curve, .. }) = &report.latency else { return Ok(()) };
    let Some((_, largest)) = curve.last() else { return Ok(()) };
    let smallest = curve[0].1.max(1);
    let (low, high) = ((smallest as f64).log10().floor(), (*largest as f64).log10().ceil());
    let height = |nanos: f64| (nanos.max(1.0).log10() - low) / (high - low).max(1.0);
    for power in low as i32..=high as i32 {
        plot.row(out, height(10f64.powi(power)), &time(10f64.powi(power)))?;
    }
    // The worst of all stands where the next percentile would.
    let nines = |quantile: f64| -(1.0 - quantile).log10();
    let furthest = curve.iter().rev().find(|(quantile, _)| *quantile < 1.0).map_or(0.0, |(q, _)| nines(*q));
    let end = furthest + 0.3;
    let points: Vec<(f64, f64)> = curve
        .iter()
        .map(|(quantile, nanos)| {
            let across = if *quantile < 1.0 { nines(*quantile) } else { end };
            (across / end, height(*nanos as f64))
        })
        .collect();
    plot.line(out, &points, false)?;
    for (quantile, label) in
        [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
    {
        if let Some((_, nanos)) = curve.iter().find(|(found, _)| *found == quantile) {
            let share = nines(quantile) / end;
            plot.column(out, share, label)?;
            let (x, y) = (Plot::x(share), plot.y(height(*nanos as f64)));
            writeln!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>")?;
            // Where the line does not come from.
            let (x, y, label) = (x - 2.0, y - 9.0, time(*nanos as f64));
            writeln!(out, "<text text-anchor=\"end\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>")?;
        }
    }
    plot.column(out, 1.0, "max")
}

fn throughput(out: &mut String, report: &Report, plot: &Plot) -> std::fmt::Result {
    plot.heading(out, "Answers per second, over time")?;
    let rates = report.rates();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if rates.is_empty() || most == 0.0 {
        return Ok(());
    }
    let top = rounded_up(most);
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        plot.row(out, share, &rate(top * share))?;
    }
    let last = (rates.len() - 1).max(1) as f64;
    let mut points: Vec<(f64, f64)> =
        rates.iter().enumerate().map(|(index, rate)| (index as f64 / last, rate / top)).collect();
    if let [only] = points[..] {
        points.push((1.0, only.1));
    }
    plot.line(out, &points, true)?;
    let seconds = rates.len() as f64 * report.timeline.width_ms as f64 / 1000.0;
    for moment in moments(seconds) {
        plot.column(out, moment / seconds, &format!("{moment} s"))?;
    }
    Ok(())
}

/// Round moments in so many seconds, five or fewer after the first.
fn moments(seconds: f64) -> Vec<f64> {
    let step = rounded_up(seconds / 5.0);
    let count = (seconds / step + 1e-9).floor() as u32;
    // Steps are 1, 2 or 5 of some power of ten, and what is added to them in binary is no part of them.
    (0..=count).map(|number| (f64::from(number) * step * 1e6).round() / 1e6).collect()
}

/// The next of 1, 2, 5, 10, 20, 50 and so on.
fn rounded_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|step| *step >= value).unwrap_or(value)
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // No document of this kind can hold them.
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::plan::plan;
    use super::super::report::report;
    use super::super::tally::Tally;
    use super::*;

    #[test]
    fn a_picture_has_both_plots_and_needs_nothing_else() {
        let picture = of(&report());
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
        for part in ["prefers-color-scheme: dark", "99 %", "Answers per second", "class=\"area\""] {
            assert!(picture.contains(part), "no {part:?} in {picture}");
        }
        for part in ["NaN", "inf", "href", "@import"] {
            assert!(!picture.contains(part), "{part:?} in {picture}");
        }
    }

    #[test]
    fn names_do_not_break_out_of_the_picture() {
        let report = Report::new("</title><script>", "a&\"\u{1}", &plan(), &Tally::new(), false);
        let picture = of(&report);
        assert!(!picture.contains("<script>"));
        assert!(picture.contains("a&amp;&quot;\u{fffd} at &lt;/title&gt;&lt;script&gt;"), "{picture}");
    }

    #[test]
    fn moments_are_round() {
        assert_eq!(moments(1.9), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(moments(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(moments(0.3), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(moments(75.0), [0.0, 20.0, 40.0, 60.0]);
    }

    #[test]
    fn scales_end_at_round_numbers() {
        assert_eq!([0.7, 1.0, 3.0, 42.0, 99_000.0].map(rounded_up), [1.0, 1.0, 5.0, 50.0, 100_000.0]);
    }
}
