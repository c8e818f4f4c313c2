//! Progress: a bar on a terminal, the wire with `-v`, nothing in a pipe.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use super::case::Case;
use super::profile::Verdict;
use super::report::{Finding, line};
use crate::output;
use crate::visible::visible;

const TITLE: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default();

/// What is shown while cases run. The findings are in the report only.
#[derive(Default)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    is_verbose: bool,
    failed: usize,
}

impl Progress {
    /// For this many findings. With `-v` there is no bar.
    pub(crate) fn start(count: usize, is_verbose: bool) -> Progress {
        let is_watched = std::io::stderr().is_terminal() && !is_verbose;
        let bar = is_watched.then(|| {
            let bar = ProgressBar::new(count as u64);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Progress { bar, is_verbose, failed: 0 }
    }

    pub(crate) fn begins(&self, case: &Case) {
        if self.is_verbose {
            output::note(&format!("{TITLE}{}{TITLE:#}: {}\n", case.name, case.claim));
        }
        if let Some(bar) = &self.bar {
            let failed = match self.failed {
                0 => String::new(),
                count => coloured(format!("{BAD}{count} failed{BAD:#} ")),
            };
            bar.set_message(format!("{failed}{}", case.name));
        }
    }

    pub(crate) fn ends(&mut self, finding: &Finding) {
        self.failed += usize::from(finding.verdict == Verdict::Fail);
        if self.is_verbose {
            let note = if finding.note.is_empty() {
                String::new()
            } else {
                format!(" ({})", visible(&finding.note))
            };
            output::note(&format!("{}{note}\n\n", line(finding)));
        }
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The text with its colours, if the terminal shows any.
fn coloured(text: String) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}
