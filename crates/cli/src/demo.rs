//! The methods that `switchboard serve` serves, to try things out with.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use switchboard::{Context, ErrorObject, Json, Router, RouterError, Stream, service};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::number::Number;

/// The router of all demo methods.
pub(crate) fn router() -> Result<Router, RouterError> {
    Router::builder().add(Math).add(Basics).add(Clock::default()).build()
}

/// Arithmetic.
struct Math;

#[service(namespace = "math")]
impl Math {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_add, |a, b| a + b)
    }

    /// Subtracts the second number from the first.
    #[method(safe)]
    fn subtract(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_sub, |a, b| a - b)
    }

    /// Multiplies two numbers.
    #[method(safe)]
    fn multiply(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_mul, |a, b| a * b)
    }

    /// Takes the square root of a number.
    #[method(safe)]
    fn sqrt(
        &self,
        /// The number; not negative.
        x: Number,
    ) -> Result<f64, ErrorObject> {
        let x = x.to_f64();
        if x < 0.0 { Err(ErrorObject::validation_failed("x must not be negative")) } else { Ok(x.sqrt()) }
    }
}

/// What does not need a namespace.
struct Basics;

#[service]
impl Basics {
    /// Answers with what it was given.
    #[method(safe)]
    fn echo(&self, message: Json) -> Json {
        message
    }

    /// Adds any number of numbers.
    #[method(safe)]
    fn sum(&self, #[arg(rest)] numbers: Vec<Number>) -> Result<Number, ErrorObject> {
        let add = |sum: Number, number| sum.combine(number, i128::checked_add, |a, b| a + b);
        numbers.into_iter().try_fold(Number::Whole(0), add)
    }

    /// Subtracts as the examples of the JSON-RPC specification do.
    #[method(safe)]
    fn subtract(&self, minuend: Number, subtrahend: Number) -> Result<Number, ErrorObject> {
        minuend.combine(subtrahend, i128::checked_sub, |a, b| a - b)
    }

    /// Streams the numbers from 1 on.
    #[method(safe)]
    fn count(
        &self,
        /// The last number.
        to: u32,
    ) -> impl Stream<Item = u32> + Send + 'static {
        futures_util::stream::iter(1..=to)
    }

    /// Answers after some seconds, with their number.
    #[method(safe)]
    async fn wait(
        &self,
        /// How many; not negative.
        seconds: f64,
    ) -> Result<f64, ErrorObject> {
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| ErrorObject::validation_failed("seconds must not be negative, nor too many"))?;
        tokio::time::sleep(time).await;
        Ok(seconds)
    }

    /// Answers with the seconds since 1970.
    #[method(safe, name = "time/now")]
    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
    }
}

/// What comes by itself.
struct Clock {
    /// How many may be told of ticks at once.
    watchers: Arc<Semaphore>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { watchers: Arc::new(Semaphore::new(1024)) }
    }
}

#[service]
impl Clock {
    /// Streams the numbers from 1 on, one at a time.
    #[method(safe)]
    fn ticks(
        &self,
        /// The last number; without it there is none.
        count: Option<u64>,
        /// How long to wait before each.
        #[arg(default = 1.0)]
        seconds: f64,
    ) -> Result<impl Stream<Item = u64> + Send + 'static, ErrorObject> {
        let clock = interval(pause(seconds)?);
        let ticks = futures_util::stream::unfold((clock, 0), |(mut clock, last)| async move {
            clock.tick().await;
            Some((last + 1, (clock, last + 1)))
        });
        Ok(ticks.take(count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX))))
    }

    /// Sends the notification `onTick` from now on, until the connection ends.
    async fn watch(
        &self,
        cx: &Context,
        /// How long to wait before each.
        #[arg(default = 1.0)]
        seconds: f64,
    ) -> Result<(), ErrorObject> {
        let time = pause(seconds)?;
        let permit = Arc::clone(&self.watchers).try_acquire_owned().map_err(|_| {
            ErrorObject::over_limit("watchers", "too many watch already; try again when one has gone")
        })?;
        // The first says whether this caller can be told at all.
        let peer = cx.peer().clone();
        peer.notify("onTick", [0]).await?;
        let tell = async move {
            let _permit = permit;
            let mut clock = interval(time);
            for number in 1_u64.. {
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

/// The time between ticks: a millisecond at least, so that they stay ticks.
fn pause(seconds: f64) -> Result<Duration, ErrorObject> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| (Duration::from_millis(1)..=Duration::from_secs(86_400)).contains(time))
        .ok_or_else(|| ErrorObject::validation_failed("seconds must be from 0.001 to 86400"))
}

/// Ticks after each such time; those that were missed are left out.
fn interval(time: Duration) -> Interval {
    let mut clock = tokio::time::interval_at(Instant::now() + time, time);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    clock
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::{CallError, Peer};

    async fn call(method: &str, params: &str) -> String {
        let peer = Peer::local(router().unwrap());
        let params = Json::parse(params.to_owned()).unwrap();
        match peer.call::<Json>(method, params).await {
            Ok(json) => json.to_string(),
            Err(CallError::Rejected(error)) => {
                format!("{} {}", error.code, error.data.clone().unwrap_or(Json::NULL))
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn numbers_keep_their_kind() {
        let check = async |method: &str, params: &str, expected: &str| {
            assert_eq!(call(method, params).await, expected, "{params}");
        };
        check("math/add", "[2,3]", "5").await;
        check("math/add", "[2,3.0]", "5.0").await;
        check("math/add", r#"{"a":-2,"b":-3}"#, "-5").await;
        check("math/add", "[18446744073709551615,18446744073709551615]", "36893488147419103230").await;
        check("math/subtract", "[0.5,1]", "-0.5").await;
        check("math/multiply", "[3000000000,3000000000]", "9000000000000000000").await;
        check("subtract", "[42,23]", "19").await;
        check("sum", "[1,2,3]", "6").await;
        check("sum", "[]", "0").await;
        check("sum", "[1,2.5]", "3.5").await;
        check("math/sqrt", "[9]", "3.0").await;
        check(
            "echo",
            r#"[{"b":1.50,"a":12345678901234567890123}]"#,
            r#"{"b":1.50,"a":12345678901234567890123}"#,
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_computed_is_an_error_that_says_so() {
        let check = async |method: &str, params: &str, code: &str, detail: &str| {
            let answer = call(method, params).await;
            assert!(answer.starts_with(code) && answer.contains(detail), "{params}: {answer}");
        };
        check("math/sqrt", "[-1]", "-32001", "negative").await;
        let most = i128::MAX.to_string();
        check("math/add", &format!("[{most},1]"), "-32001", "too large").await;
        check("math/multiply", "[1e200,1e200]", "-32001", "too large").await;
        check("math/add", &format!("[{most}0,1]"), "-32602", "128 bits").await;
        check("math/add", r#"["2",3]"#, "-32602", "a number").await;
        check("sum", "[1,null]", "-32602", "a number").await;
        check("math/add", "[1e999,1]", "-32602", "128 bits").await;
    }

    #[test]
    fn every_method_is_described() {
        for method in router().unwrap().describe().methods {
            assert!(!method.summary.is_empty(), "{}", method.name);
            assert!(method.marks.safe || method.name == "watch", "{}", method.name);
        }
    }
}
