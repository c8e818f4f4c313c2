//! Time that only a test lets pass.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Takes this long on a clock that is paused, which is no time at all: it jumps ahead when nothing else is left to do.
///
/// For handlers that take their time, in tests with `start_paused`.
pub async fn takes(duration: Duration) {
    sleep_until(Instant::now() + duration).await;
}
