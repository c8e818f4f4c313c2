//! What most people try first.

use std::time::Duration;

use futures_util::stream;
use switchboard::{Json, Stream, service};

use super::bounded::{Bounded, Bounds};
use super::faults::Unacceptable;

/// How long a call may wait: a day at most.
struct Wait;

impl Bounds for Wait {
    type Of = f64;
    const NAME: &'static str = "seconds";
    const LEAST: f64 = 0.0;
    const MOST: Option<f64> = Some(86_400.0);
}

/// What does not need a namespace.
pub(super) struct Basics;

#[service]
impl Basics {
    /// Answers with what it was given.
    #[method(safe, tag = "basics", example(name = "a list", params = [["hello", 5]], result = ["hello", 5]))]
    fn echo(
        &self,
        /// Any JSON value.
        message: Json,
    ) -> Json {
        message
    }

    /// Answers with a list, as the examples of the JSON-RPC specification do.
    #[method(safe, tag = "basics", example(name = "always", result = ["hello", 5]))]
    fn get_data(&self) -> (&'static str, u8) {
        ("hello", 5)
    }

    /// Answers after some seconds, with their number.
    #[method(safe, tag = "basics", example(name = "not at all", params = [0], result = 0.0))]
    async fn wait(
        &self,
        /// How many.
        seconds: Bounded<Wait>,
    ) -> Result<f64, Unacceptable> {
        let seconds = seconds.get()?;
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(seconds)
    }

    /// Streams the numbers from 1 on.
    #[method(safe, tag = "streams", example(name = "to three", params = [3], result = [1, 2, 3]))]
    fn count(
        &self,
        /// The last number.
        to: u32,
    ) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(1..=to)
    }
}
