//! One interval, as a table for people or as JSON for programs.

use anstyle::Style;

use super::feed::Feed;
use super::item::{Info, Stats};
use super::state::{By, Calls, Wanted};
use super::wording::{milliseconds, server, summary};
use crate::bench::figures::rate;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::session::Line;
use crate::table::{Cell, Table, terminal_width};

/// Waits for the end of the interval, and prints it.
pub(super) async fn print(feed: &Feed<'_>, line: &Line, info: &Info, by: By) -> Result<(), Failure> {
    let mut intervals = feed.stats(line, Wanted { by, calls: Calls::Nothing }).await?;
    let json = intervals.next().await?;
    let format = feed.session.target.format;
    if !format.is_for_people() {
        return output::result(&json, format).map(|_| ());
    }
    let wrong = |error| Failure::new(Exit::Protocol, format!("cannot read the numbers: {error}"));
    let stats: Stats = json.decode().map_err(wrong)?;
    output::page(&page(info, &stats, by, terminal_width())).map(|_| ())
}

fn page(info: &Info, stats: &Stats, by: By, width: usize) -> String {
    const HEAD: Style = Style::new().bold();
    let mut text =
        format!("{HEAD}{}{HEAD:#}\n{}\n", server(info, stats.t).join("  "), summary(stats).join("  "));
    if stats.rows.is_empty() {
        return text + "\nNo calls ended in this interval.\n";
    }
    let mut table = Table::new([by.name(), "calls/s", "errors/s", "p50", "p90", "p99"]);
    for row in &stats.rows {
        table.row([
            Cell::plain(&*row.name),
            Cell::plain(rate(stats.rate(row.calls))),
            Cell::plain(rate(stats.rate(row.errors))),
            Cell::plain(milliseconds(row.p50_ms)),
            Cell::plain(milliseconds(row.p90_ms)),
            Cell::plain(milliseconds(row.p99_ms)),
        ]);
    }
    text.push('\n');
    text + &table.render(width)
}

#[cfg(test)]
mod tests {
    use super::super::item::Row;
    use super::*;

    #[test]
    fn an_interval_is_a_summary_and_a_table() {
        let info = Info { version: "1.2.3".into(), started_at: 0.0, ..Info::default() };
        let mut stats = Stats { t: 61_000.0, seconds: 2.0, calls: 4, in_flight: 1, ..Stats::default() };
        let plain =
            |stats: &Stats| anstream::adapter::strip_str(&page(&info, stats, By::Method, 80)).to_string();
        let summary = "calls/s 2.00  errors/s 0  in flight 1  streams 0  in 0 B/s  out 0 B/s";
        let head = format!("switchboard 1.2.3  up 1m 1s\n{summary}\n\n");
        assert_eq!(plain(&stats), format!("{head}No calls ended in this interval.\n"));
        stats.rows =
            vec![Row { name: "echo".into(), calls: 4, errors: 1, p50_ms: Some(1.5), ..Row::default() }];
        let table =
            "method  calls/s  errors/s  p50      p90  p99\necho    2.00     0.50      1.50 ms  -    -\n";
        assert_eq!(plain(&stats), head + table);
    }
}
