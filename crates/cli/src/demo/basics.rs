//! What most people try first.

use std::time::Duration;

use futures_util::stream;
use switchboard::{Json, Stream, service};

use super::faults::Unacceptable;

/// What does not need a namespace.
pub(super) struct Basics;

#[service]
impl Basics {
    /// Answers with what it was given.
    #[method(safe, tag = "basics")]
    fn echo(
        &self,
        /// Any JSON value.
        message: Json,
    ) -> Json {
        message
    }

    /// Answers with a list, as the examples of the JSON-RPC specification do.
    #[method(safe, tag = "basics")]
    fn get_data(&self) -> (&'static str, u8) {
        ("hello", 5)
    }

    /// Answers after some seconds, with their number.
    #[method(safe, tag = "basics")]
    async fn wait(
        &self,
        /// How many; not negative.
        seconds: f64,
    ) -> Result<f64, Unacceptable> {
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Unacceptable("seconds must not be negative, nor too many"))?;
        tokio::time::sleep(time).await;
        Ok(seconds)
    }

    /// Streams the numbers from 1 on.
    #[method(safe, tag = "streams")]
    fn count(
        &self,
        /// The last number.
        to: u32,
    ) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(1..=to)
    }
}
