//! Idle connections: those without messages and without calls in flight.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// How often a connection is looked at in the time after which it counts as idle.
const LOOKS: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(1);
/// Far enough not to matter, near enough to be a time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Notices when a connection is idle. It is looked at now and then, so that messages cost nothing.
pub(crate) struct IdleWatch(Option<Box<Watch>>);

struct Watch {
    /// Between two looks.
    time: Duration,
    timer: Pin<Box<Sleep>>,
    is_started: bool,
    /// [`Connection::idle_mark`](switchboard_core::Connection::idle_mark) at the last look.
    mark: Option<u32>,
    /// How many looks in a row found nothing new.
    quiet: u32,
}

impl IdleWatch {
    /// Watches a new connection, which is idle after this time or up to a quarter of it later.
    pub(crate) fn new(time: Option<Duration>) -> IdleWatch {
        IdleWatch(time.map(|time| {
            let time = (time / LOOKS).clamp(SHORTEST, LONGEST);
            let timer = Box::pin(sleep(time));
            Box::new(Watch { time, timer, is_started: false, mark: Some(0), quiet: 0 })
        }))
    }

    /// Whether the connection is idle. `mark` is its [`idle_mark`](switchboard_core::Connection::idle_mark).
    ///
    /// It has to be asked by the same task each time, which is woken for the next look.
    #[inline]
    pub(crate) fn is_idle(&mut self, mark: impl Fn() -> Option<u32>, cx: &mut Context<'_>) -> bool {
        match &mut self.0 {
            Some(watch) if watch.timer.is_elapsed() || !watch.is_started => watch.look(mark, cx),
            _ => false,
        }
    }
}

impl Watch {
    #[cold]
    fn look(&mut self, mark: impl Fn() -> Option<u32>, cx: &mut Context<'_>) -> bool {
        self.is_started = true;
        while self.timer.as_mut().poll(cx).is_ready() {
            self.timer.as_mut().reset(Instant::now() + self.time);
            let now = mark();
            self.quiet = if now.is_some() && now == self.mark { self.quiet + 1 } else { 0 };
            self.mark = now;
            if self.quiet >= LOOKS {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    const TIME: Duration = Duration::from_secs(60);

    /// How long it takes until a connection is idle whose mark is what `mark` says, by the seconds since it was opened.
    async fn idle_after(mark: impl Fn(u64) -> Option<u32>) -> u64 {
        let begun = Instant::now();
        let mut watch = IdleWatch::new(Some(TIME));
        let look = || mark(begun.elapsed().as_secs());
        poll_fn(|cx| if watch.is_idle(look, cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_nothing_is_said_for_long_enough() {
        assert_eq!(idle_after(|_| Some(0)).await, 60, "nothing was ever said");
        assert_eq!(idle_after(|now| Some(u32::from(now > 40))).await, 105, "a message came after 40 seconds");
        assert_eq!(idle_after(|now| Some((now / 50).min(3) as u32)).await, 210, "one came every 50 seconds");
        assert_eq!(idle_after(|now| (now >= 600).then_some(1)).await, 660, "a call took ten minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_limit_is_never_idle() {
        let mut watch = IdleWatch::new(None);
        let asked = Cell::new(false);
        let mark = || {
            asked.set(true);
            Some(0)
        };
        for _ in 0..10 {
            tokio::time::advance(TIME).await;
            assert!(!poll_fn(|cx| Poll::Ready(watch.is_idle(mark, cx))).await);
        }
        assert!(!asked.get());
    }
}
