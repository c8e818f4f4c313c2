//! Gives memory back to the system when nothing is called any more.
//!
//! mimalloc returns freed memory a second after it was freed, but looks for it only when a thread allocates a lot or ends. A
//! server that is idle after a burst would stay at its peak. So a thread that does nothing ends every few seconds.

use std::time::Duration;

/// How often memory is given back.
const PERIOD: Duration = Duration::from_secs(5);

/// Gives memory back, again and again, until this is dropped.
pub(crate) async fn give_back() {
    let mut periods = tokio::time::interval(PERIOD);
    loop {
        periods.tick().await;
        // Without a thread it stays as it is until the next time.
        let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(allocate);
    }
}

/// Allocates something, so that the thread has a heap which ends with it.
fn allocate() {
    std::hint::black_box(Box::new(0));
}
