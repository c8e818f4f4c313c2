//! What a replay found: calls that differ, as they are found, and a summary.

use std::io::IsTerminal;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use switchboard::Json;
use tokio::time::Instant;

use super::difference::Difference;
use crate::brief::{cut, shortened};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::recording::{self, Entry};
use crate::table::terminal_width;
use crate::visible::visible;

const METHOD: Style = Style::new().bold();
const BEFORE: Style = AnsiColor::Red.on_default();
const NOW: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();

/// The most differences of a call that a person sees.
const MOST: usize = 20;
/// A replay that is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was found so far.
pub(crate) struct Report {
    format: Format,
    calls: usize,
    equal: usize,
    differ: usize,
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Report {
    /// For a recording of this many calls.
    pub(crate) fn new(format: Format, calls: usize) -> Report {
        Report { format, calls, equal: 0, differ: 0, start: Instant::now(), bar: None }
    }

    /// A call was compared. Returns whether stdout is still read.
    pub(crate) fn compared(&mut self, entry: &Entry, differences: &[Difference]) -> Result<bool, Failure> {
        match differences {
            [] => self.equal += 1,
            _ => self.differ += 1,
        }
        self.advance();
        match differences {
            [] => Ok(true),
            _ => self.write(&self.described(entry, differences)),
        }
    }

    /// Writes the summary. Answers that differ are a failure.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        output::page(&self.summary())?;
        match self.differ {
            0 => Ok(()),
            _ => Err(Failure::Shown(Exit::Differs, String::new())),
        }
    }

    fn summary(&self) -> String {
        let Report { calls, equal, differ, .. } = *self;
        let others = calls - equal - differ;
        if !self.format.is_for_people() {
            #[derive(Serialize)]
            #[serde(rename_all = "camelCase")]
            struct Summary {
                calls: usize,
                equal: usize,
                differ: usize,
                not_compared: usize,
            }
            return recording::line(&Summary { calls, equal, differ, not_compared: others });
        }
        let others = if others > 0 { format!(", {others} not compared") } else { String::new() };
        let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        format!("{calls}: {equal} equal, {differ} differ{others}\n")
    }

    fn described(&self, entry: &Entry, differences: &[Difference]) -> String {
        if !self.format.is_for_people() {
            #[derive(Serialize)]
            struct Line<'a> {
                id: u64,
                session: u64,
                method: &'a str,
                differences: &'a [Difference],
            }
            let Entry { id, session, method, .. } = entry;
            return recording::line(&Line { id: *id, session: *session, method, differences });
        }
        let method = visible(&entry.method);
        let mut text = format!("{FAINT}#{}{FAINT:#} {METHOD}{method}{METHOD:#}\n", entry.id);
        for difference in differences.iter().take(MOST) {
            text.push_str(&line(difference, terminal_width()));
        }
        if let more @ 1.. = differences.len().saturating_sub(MOST) {
            text.push_str(&format!("  {FAINT}and {more} more{FAINT:#}\n"));
        }
        text
    }

    fn write(&self, text: &str) -> Result<bool, Failure> {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::page(text)),
            None => output::page(text),
        }
    }

    /// Moves the bar, which is there once a replay takes long and a person sees it.
    fn advance(&mut self) {
        if self.bar.is_none() && self.start.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(self.calls as u64);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position((self.equal + self.differ) as u64);
        }
    }
}

/// A difference on one line: `/result/x: 3 → 4`.
fn line(difference: &Difference, width: usize) -> String {
    let pointer = visible(&difference.pointer());
    // What is left beside the pointer is for both values; a long pointer does not take it all.
    let each = (width.saturating_sub(pointer.chars().count() + 8) / 2).max(24);
    let shown = |value: &Option<Json>| match value {
        Some(json) => cut(&visible(&shortened(json, each * 4)), each).into_owned(),
        None => "nothing".to_owned(),
    };
    let (before, now) = (shown(&difference.recorded), shown(&difference.replayed));
    format!("  {pointer}: {BEFORE}{before}{BEFORE:#} → {NOW}{now}{NOW:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_line_that_controls_nothing() {
        let json = |text: &str| Some(Json::parse(text.to_owned()).unwrap());
        let check = |recorded: Option<Json>, replayed: Option<Json>, expected: &str| {
            let difference =
                Difference { path: vec!["result".to_owned(), "x\u{1b}".to_owned()], recorded, replayed };
            let shown = anstream::adapter::strip_str(&line(&difference, 80)).to_string();
            assert_eq!(shown, format!("  /result/x\\u001b: {expected}\n"));
        };
        check(json("3"), json("4"), "3 → 4");
        check(json("\"\u{9b}\""), None, "\"\\u009b\" → nothing");
        let long = format!("\"{}\"", "x".repeat(100));
        check(None, json(&long), &format!("nothing → \"{}…", "x".repeat(26)));
    }
}
