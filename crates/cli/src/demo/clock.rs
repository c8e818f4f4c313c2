//! The time, and notifications that tick with it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{FutureExt, StreamExt, stream};
use switchboard::{Code, Context, DeclaredError, ErrorObject, IntoError, Stream, service};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::bounded::{Bounded, Bounds};
use super::faults::{Details, Unacceptable, declared};

/// How many callers can watch at once.
const WATCHERS: usize = 1024;

/// A clock that ticks for its callers.
pub(super) struct Clock {
    watchers: Arc<Semaphore>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { watchers: Arc::new(Semaphore::new(WATCHERS)) }
    }
}

#[service]
impl Clock {
    /// Returns the seconds since 1970-01-01 (UTC).
    #[method(safe, name = "time/now", tag = "time")]
    fn now(&self) -> f64 {
        since_1970().as_secs_f64()
    }

    /// Returns the current time on the server.
    ///
    /// It is UTC in ISO 8601 format: `2026-11-16T04:07:44.512Z`.
    #[method(safe, tag = "time")]
    fn get_server_time(&self) -> String {
        written(since_1970())
    }

    /// Streams the numbers 1, 2, 3 and so on, at a steady pace.
    #[method(safe, tag = "streams", example(name = "two, quickly", params = [2, 0.001], result = [1, 2]))]
    fn ticks(
        &self,
        /// Last number; without it, the stream does not end.
        count: Option<u64>,
        /// Seconds before each number.
        #[arg(default = Bounded::new(1.0))]
        seconds: Bounded<Pause>,
    ) -> Result<impl Stream<Item = u64> + Send + 'static, Unacceptable> {
        let clock = interval(pause(&seconds)?);
        let ticks = stream::unfold((clock, 0), |(mut clock, last)| async move {
            clock.tick().await;
            Some((last + 1, (clock, last + 1)))
        });
        Ok(ticks.take(count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX))))
    }

    /// Sends `onTick` notifications until the connection closes.
    ///
    /// The response comes first. An event stream over HTTP ends with the response, so over HTTP a single notification comes before it.
    #[method(tag = "pushes")]
    async fn watch(
        &self,
        cx: &Context,
        /// Seconds before each notification.
        #[arg(default = Bounded::new(1.0))]
        seconds: Bounded<Pause>,
    ) -> Result<(), NoTicks> {
        let time = pause(&seconds).map_err(NoTicks::Unacceptable)?;
        let permit = Arc::clone(&self.watchers).try_acquire_owned().map_err(|_| NoTicks::TooMany)?;
        let peer = cx.peer().clone();
        if matches!(cx.origin().transport, "http" | "https") {
            return peer.notify("onTick", [0]).await.map_err(|_| NoTicks::NoPush);
        }
        // The peer of a caller that cannot be called back is closed from the start.
        if peer.closed().now_or_never().is_some() {
            return Err(NoTicks::NoPush);
        }
        let tell = async move {
            let _permit = permit;
            let mut clock = interval(time);
            for number in 0_u64.. {
                clock.tick().await;
                if peer.notify("onTick", [number]).await.is_err() {
                    return;
                }
            }
        };
        let gone = cx.peer().clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = gone.closed() => {}
                () = tell => {}
            }
        });
        Ok(())
    }
}

/// Why there are no ticks.
enum NoTicks {
    Unacceptable(Unacceptable),
    TooMany,
    NoPush,
}

/// The error of transports without notifications to clients.
const NO_PUSH: &str = "this transport cannot send notifications to the client";

impl IntoError for NoTicks {
    fn into_error(self) -> ErrorObject {
        match self {
            NoTicks::Unacceptable(error) => error.into_error(),
            NoTicks::TooMany => {
                ErrorObject::over_limit("watchers", "too many callers are watching; try again later")
            }
            NoTicks::NoPush => ErrorObject::new(Code::SERVER_ERROR, NO_PUSH)
                .with_detail("use WebSocket, TCP, a Unix socket or stdio, or ask for an event stream"),
        }
    }

    fn declared() -> Vec<DeclaredError> {
        let mut errors = Unacceptable::declared();
        errors.push(declared(Code::OVER_LIMIT));
        errors.push(DeclaredError::new(Code::SERVER_ERROR, NO_PUSH).with_data::<Details>());
        errors
    }
}

/// The time between ticks: from a millisecond to a day.
struct Pause;

impl Bounds for Pause {
    type Of = f64;
    const NAME: &'static str = "seconds";
    const LEAST: f64 = 0.001;
    const MOST: Option<f64> = Some(86_400.0);
}

fn pause(seconds: &Bounded<Pause>) -> Result<Duration, Unacceptable> {
    seconds.get().map(Duration::from_secs_f64)
}

/// Ticks at this interval, skipping missed ones.
fn interval(time: Duration) -> Interval {
    let mut clock = tokio::time::interval_at(Instant::now() + time, time);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    clock
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A moment in UTC, to the millisecond.
fn written(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let milliseconds = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The date so many days after 1 January 1970.
///
/// Years are counted from March on, so that the day that is there in leap years only is the last of its year; 400 years
/// always have as many days.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let since_march_of_0 = days + 719_468;
    let (era, day) = (since_march_of_0 / ERA, since_march_of_0 % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year;
    (if month <= 2 { year + 1 } else { year }, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_written_as_iso_8601() {
        let check = |milliseconds: u64, expected: &str| {
            assert_eq!(written(Duration::from_millis(milliseconds)), expected);
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_609_459_199_000, "2020-12-31T23:59:59.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn every_day_follows_the_one_before_it() {
        let is_leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), (year, month, day));
            let length = match month {
                2 if is_leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
