//! A timer that is exact to some microseconds.
//!
//! The runtime's own timer counts milliseconds. At a rate, that would be added to every latency, since they are counted
//! from when a call was due. Linux has a better one as a file descriptor; elsewhere the runtime's is used, and what it
//! is late is in the report.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep};

/// Wakes at a moment.
pub(crate) enum Alarm {
    #[cfg(target_os = "linux")]
    Fine(fine::Timer),
    Coarse(Pin<Box<Sleep>>),
}

impl Alarm {
    /// The best one there is.
    pub(crate) fn fine() -> Alarm {
        #[cfg(target_os = "linux")]
        if let Ok(timer) = fine::Timer::new() {
            return Alarm::Fine(timer);
        }
        Alarm::coarse()
    }

    /// The runtime's, which stands still where its time is paused.
    pub(crate) fn coarse() -> Alarm {
        Alarm::Coarse(Box::pin(tokio::time::sleep_until(Instant::now())))
    }

    /// Whether the moment has come; if not, the task is woken then.
    pub(crate) fn poll_at(&mut self, moment: Instant, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            #[cfg(target_os = "linux")]
            Alarm::Fine(timer) => timer.poll_at(moment, cx),
            Alarm::Coarse(sleep) => {
                if sleep.deadline() != moment {
                    sleep.as_mut().reset(moment);
                }
                sleep.as_mut().poll(cx)
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod fine {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::{AsyncRead, ReadBuf};
    use tokio::net::unix::pipe::Receiver;
    use tokio::time::Instant;

    /// A timer of the kernel.
    pub(crate) struct Timer {
        /// Read like a pipe: when it rings there are eight bytes in it.
        descriptor: Receiver,
        set_to: Option<Instant>,
    }

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let descriptor =
                Receiver::from_owned_fd_unchecked(timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
            Ok(Timer { descriptor, set_to: None })
        }

        pub(super) fn poll_at(&mut self, moment: Instant, cx: &mut Context<'_>) -> Poll<()> {
            loop {
                let left = moment.saturating_duration_since(Instant::now());
                // A timer that cannot be set must not stop the run: the call is made early then.
                if left.is_zero() || (self.set_to != Some(moment) && self.set(moment).is_err()) {
                    return Poll::Ready(());
                }
                let mut bytes = [0; 8];
                if ready!(Pin::new(&mut self.descriptor).poll_read(cx, &mut ReadBuf::new(&mut bytes)))
                    .is_err()
                {
                    return Poll::Ready(());
                }
                // It rang, perhaps for an earlier moment.
                self.set_to = None;
            }
        }

        fn set(&mut self, moment: Instant) -> rustix::io::Result<()> {
            let left = moment.saturating_duration_since(Instant::now());
            // Zero would turn it off.
            let value = Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().max(1).into(),
            };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
            self.set_to = Some(moment);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn no_alarm_rings_early() {
        for mut alarm in [Alarm::fine(), Alarm::coarse()] {
            for micros in [300, 10, 2000, 0] {
                let moment = Instant::now() + Duration::from_micros(micros);
                poll_fn(|cx| alarm.poll_at(moment, cx)).await;
                assert!(Instant::now() >= moment);
            }
        }
    }
}
