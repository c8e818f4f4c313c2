//! How far it is, for whoever watches a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::profile::Verdict;
use super::report::{Finding, line};

/// A bar on a terminal; nothing elsewhere.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(crate) fn start(count: usize) -> Progress {
        let is_watched = std::io::stderr().is_terminal();
        Progress(is_watched.then(|| {
            let bar = ProgressBar::new(count as u64);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        }))
    }

    pub(crate) fn begins(&self, name: &'static str) {
        if let Some(bar) = &self.0 {
            bar.set_message(name);
        }
    }

    /// What is wrong is told at once.
    pub(crate) fn ends(&self, finding: &Finding) {
        if let Some(bar) = &self.0 {
            if finding.verdict == Verdict::Fail {
                bar.println(coloured(line(finding)));
            }
            bar.inc(1);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// The text with its colours, if the terminal is to have any.
fn coloured(text: String) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}
