//! What a run is to do, as it was asked for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a run does: how many calls, how fast, over how many connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// Connections in all.
    pub(crate) connections: usize,
    /// Messages that may be under way on each.
    pub(crate) depth: usize,
    /// Threads that make the calls; the connections are shared out among them.
    pub(crate) threads: usize,
    /// Calls in one message: above 1, each is a batch.
    pub(crate) batch: usize,
    /// Calls a second, if they are due at fixed times. Otherwise each place makes its next call when it has an answer.
    pub(crate) rate: Option<f64>,
    /// Seconds in which calls are made and measured.
    pub(crate) seconds: Option<f64>,
    /// Calls to make and measure.
    pub(crate) count: Option<u64>,
    /// Seconds before that, in which calls are made and not measured.
    #[serde(rename = "warmUpSeconds")]
    pub(crate) warm_up: f64,
    /// Whether HTTP/2 is spoken.
    #[serde(default)]
    pub(crate) http2: bool,
    /// Whether messages follow each other on a connection of HTTP/1.1 without waiting for answers.
    #[serde(default)]
    pub(crate) pipeline: bool,
    /// Seconds after which an answer is not waited for any more.
    #[serde(rename = "timeoutSeconds")]
    pub(crate) timeout: f64,
}

impl Plan {
    /// How long calls are measured, if that is given.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs_f64)
    }

    /// How long calls are made before any is measured.
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_secs_f64(self.warm_up)
    }

    /// How long an answer is waited for.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }

    /// The same with one connection for every message in flight.
    pub(crate) fn spread(&self) -> Plan {
        Plan { connections: self.connections * self.depth, depth: 1, ..self.clone() }
    }

    /// The part of `total` that is due to the thread with this number.
    pub(crate) fn share(&self, total: u64, thread: usize) -> u64 {
        let (thread, threads) = (thread as u64, self.threads as u64);
        total / threads + u64::from(thread < total % threads)
    }
}

#[cfg(test)]
pub(super) fn plan() -> Plan {
    Plan {
        connections: 1,
        depth: 1,
        threads: 1,
        batch: 1,
        rate: None,
        seconds: None,
        count: None,
        warm_up: 0.0,
        http2: false,
        pipeline: false,
        timeout: 30.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_threads_are_the_whole() {
        let plan = Plan { threads: 3, ..plan() };
        assert_eq!([0, 1, 2].map(|thread| plan.share(11, thread)), [4, 4, 3]);
        assert_eq!([0, 1, 2].map(|thread| plan.share(2, thread)), [1, 1, 0]);
    }
}
