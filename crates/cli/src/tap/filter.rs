//! Which calls are shown.

use std::time::Duration;

use clap::Args;
use switchboard::access::Pattern;

use crate::recording::Entry;
use crate::units;

/// Which calls are shown. All are forwarded, counted and recorded.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Filter {
    /// Show only calls of methods that match this pattern, such as `math/*`. Can be repeated.
    #[arg(long = "method", value_name = "PATTERN")]
    methods: Vec<Pattern>,
    /// Show only calls that fail, when they have ended.
    #[arg(long)]
    failed: bool,
    /// Show only calls that take longer than this, such as 100ms, when they have ended.
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    slower_than: Option<Duration>,
}

impl Filter {
    /// Whether it is known only at the end of a call whether it is shown.
    pub(crate) fn needs_end(&self) -> bool {
        self.failed || self.slower_than.is_some()
    }

    /// Whether calls of this method may be shown.
    pub(crate) fn shows_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|pattern| pattern.matches(method))
    }

    /// Whether messages that are refused before they become a call are shown.
    pub(crate) fn shows_refused(&self, method: Option<&str>) -> bool {
        self.slower_than.is_none()
            && method.map_or(self.methods.is_empty(), |method| self.shows_method(method))
    }

    /// Whether a call that has ended is shown.
    pub(crate) fn shows(&self, entry: &Entry) -> bool {
        let is_slow = |least: Duration| entry.ms > least.as_secs_f64() * 1000.0;
        self.shows_method(&entry.method)
            && (!self.failed || entry.has_failed())
            && self.slower_than.is_none_or(is_slow)
    }
}
