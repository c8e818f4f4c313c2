//! The time limit of a call: progress extends it, and it stops while a user is asked (MCP-L-09).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::CallError;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The time that a call has left.
#[derive(Debug)]
pub(crate) struct Clock {
    each: Duration,
    resets: bool,
    hands: Mutex<Hands>,
    changed: Notify,
}

#[derive(Debug)]
struct Hands {
    /// When the call times out.
    until: Instant,
    /// When it does whatever its progress.
    last: Instant,
    /// How many wait for a user, and since when.
    paused: usize,
    since: Instant,
}

/// A limit that is never reached in practice.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Clock {
    /// A call may take this long; or, with a cap, this long between any two signs of progress.
    pub(crate) fn new(each: Duration, cap: Option<Duration>) -> Arc<Clock> {
        let (now, each) = (Instant::now(), each.min(FOREVER));
        let last = now + cap.unwrap_or(each).min(FOREVER);
        let hands = Hands { until: (now + each).min(last), last, paused: 0, since: now };
        Arc::new(Clock { each, resets: cap.is_some(), hands: Mutex::new(hands), changed: Notify::new() })
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call makes progress.
    pub(crate) fn progress(&self) {
        if self.resets {
            let mut hands = self.hands();
            hands.until = (Instant::now() + self.each).min(hands.last);
        }
    }

    /// Stops until the value is dropped.
    pub(crate) fn pause(self: &Arc<Self>) -> Paused {
        let mut hands = self.hands();
        if hands.paused == 0 {
            hands.since = Instant::now();
        }
        hands.paused += 1;
        drop(hands);
        Paused(Arc::clone(self))
    }

    /// Waits for this as long as there is time.
    pub(crate) async fn limit<T>(&self, work: impl Future<Output = T>) -> Result<T, CallError> {
        tokio::select! {
            done = work => Ok(done),
            () = self.expired() => Err(CallError::TimedOut),
        }
    }

    async fn expired(&self) {
        loop {
            let changed = self.changed.notified();
            let until = {
                let hands = self.hands();
                (hands.paused == 0).then_some(hands.until)
            };
            match until {
                None => changed.await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => tokio::select! {
                    () = tokio::time::sleep_until(until) => {}
                    () = changed => {}
                },
            }
        }
    }
}

/// A clock that stands still.
pub(crate) struct Paused(Arc<Clock>);

impl Drop for Paused {
    fn drop(&mut self) {
        let mut hands = self.0.hands();
        hands.paused -= 1;
        if hands.paused == 0 {
            let waited = hands.since.elapsed();
            hands.until += waited;
            hands.last += waited;
        }
        drop(hands);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many seconds pass until the call times out.
    async fn passed(clock: Arc<Clock>) -> u64 {
        let begun = Instant::now();
        assert_eq!(clock.limit(std::future::pending::<()>()).await, Err(CallError::TimedOut));
        begun.elapsed().as_secs()
    }

    // MCP-L-09
    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_time_up_to_the_cap() {
        let progressing = |cap| async move {
            let clock = Clock::new(10 * SECOND, cap);
            let work = Arc::clone(&clock);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(6 * SECOND).await;
                    work.progress();
                }
            });
            passed(clock).await
        };
        assert_eq!(progressing(None).await, 10);
        assert_eq!(progressing(Some(25 * SECOND)).await, 25);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_still_while_a_user_is_asked() {
        let clock = Clock::new(10 * SECOND, None);
        let asking = Arc::clone(&clock);
        tokio::spawn(async move {
            tokio::time::sleep(4 * SECOND).await;
            let (one, two) = (asking.pause(), asking.pause());
            tokio::time::sleep(60 * SECOND).await;
            drop(one);
            tokio::time::sleep(60 * SECOND).await;
            drop(two);
        });
        assert_eq!(passed(clock).await, 130);
    }
}
