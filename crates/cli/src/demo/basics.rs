//! The methods that most people try first.

use std::time::Duration;

use futures_util::stream;
use switchboard::{Json, Stream, service};

use super::bounded::{Bounded, Bounds};
use super::faults::Unacceptable;

/// How long a call waits: a day at most.
struct Wait;

impl Bounds for Wait {
    type Of = f64;
    const NAME: &'static str = "seconds";
    const LEAST: f64 = 0.0;
    const MOST: Option<f64> = Some(86_400.0);
}

/// Methods without a namespace.
pub(super) struct Basics;

#[service]
impl Basics {
    /// Returns its parameter.
    #[method(safe, tag = "basics", example(name = "a list", params = [["hello", 5]], result = ["hello", 5]))]
    fn echo(
        &self,
        /// Any JSON value.
        message: Json,
    ) -> Json {
        message
    }

    /// Returns a list, as in the examples of the JSON-RPC specification.
    #[method(safe, tag = "basics", example(name = "always", result = ["hello", 5]))]
    fn get_data(&self) -> (&'static str, u8) {
        ("hello", 5)
    }

    /// Waits for a number of seconds, and returns that number.
    #[method(safe, tag = "basics", example(name = "no wait", params = [0], result = 0.0))]
    async fn wait(
        &self,
        /// How long to wait.
        seconds: Bounded<Wait>,
    ) -> Result<f64, Unacceptable> {
        let seconds = seconds.get()?;
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(seconds)
    }

    /// Streams the numbers from 1 to a limit.
    #[method(safe, tag = "streams", example(name = "to three", params = [3], result = [1, 2, 3]))]
    fn count(
        &self,
        /// The last number.
        to: u32,
    ) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(1..=to)
    }
}
