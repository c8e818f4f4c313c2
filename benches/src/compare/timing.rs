//! How long a function takes, by a loop that is bounded in time.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to run between two looks at the clock, so that looking costs nothing.
const STEP: Duration = Duration::from_micros(200);

/// The mean time of a call of `work`, in nanoseconds, over about `duration`.
pub fn nanoseconds(duration: Duration, mut work: impl FnMut() -> bytes::Bytes) -> f64 {
    let start = Instant::now();
    black_box(work());
    let step = (STEP.as_nanos() / start.elapsed().as_nanos().max(1)).clamp(1, 10_000);

    let start = Instant::now();
    let mut calls = 0;
    loop {
        for _ in 0..step {
            black_box(work());
        }
        calls += step;
        let elapsed = start.elapsed();
        if elapsed >= duration {
            return elapsed.as_nanos() as f64 / calls as f64;
        }
    }
}
