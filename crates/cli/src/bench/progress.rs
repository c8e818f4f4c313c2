//! How far a run is, while it runs: a bar on a terminal, nothing in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use super::figures::{count, rate};
use super::plan::Plan;

/// How often the bar moves.
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// The bar of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    plan: Plan,
    start: Instant,
    last: (Instant, u64),
    /// Calls a second of late, smoothed.
    speed: Option<f64>,
}

impl Progress {
    /// A bar for a run that begins at `start`, if a person sees stderr.
    pub(crate) fn new(plan: &Plan, start: Instant) -> Progress {
        let is_seen = std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        let style = ProgressStyle::with_template("{bar:30.cyan/dim} {msg}");
        bar.set_style(style.expect("the template is well-formed").progress_chars("━╸─"));
        Progress { bar, plan: plan.clone(), start, last: (start, 0), speed: None }
    }

    /// Shows how far the run is.
    pub(crate) fn show(&mut self, now: Instant, (done, errors): (u64, u64)) {
        let passed = now.saturating_duration_since(self.last.0).as_secs_f64();
        if passed > 0.0 {
            let speed = done.saturating_sub(self.last.1) as f64 / passed;
            self.speed = Some(self.speed.map_or(speed, |before| before * 0.7 + speed * 0.3));
            self.last = (now, done);
        }
        let elapsed = now.saturating_duration_since(self.start);
        self.bar.set_position((self.share(elapsed, done) * 1000.0) as u64);
        let what = if elapsed < self.plan.warm_up() { "warming up, " } else { "" };
        let trouble = if errors > 0 { format!(", {} errors", count(errors)) } else { String::new() };
        let speed = rate(self.speed.unwrap_or_default());
        self.bar.set_message(format!("{what}{speed} calls/s, {} in all{trouble}", count(done)));
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }

    /// How much of the run is done, from 0 to 1.
    fn share(&self, elapsed: Duration, done: u64) -> f64 {
        let warm_up = self.plan.warm_up().as_secs_f64();
        let by_time = self.plan.seconds.map(|seconds| elapsed.as_secs_f64() / (warm_up + seconds));
        let by_count = self.plan.count.map(|count| done as f64 / count as f64);
        by_time.into_iter().chain(by_count).fold(0.0, f64::max).min(1.0)
    }
}
