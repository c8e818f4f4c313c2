//! Waits for what other tasks and processes do.

use std::time::Duration;

use tokio::time::Instant;

/// Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until this holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        ticks.tick().await;
    }
}
