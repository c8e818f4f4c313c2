//! How jobs are kept and run.

use std::time::Duration;

/// The longest time between two attempts.
const LONGEST_DELAY: Duration = Duration::from_secs(120);

/// How jobs are kept and run. All servers of a service should have the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobsOptions {
    /// How often a job is begun at most, before it becomes a dead letter. Default: 5.
    pub attempts: u32,
    /// The time before the second attempt. It grows by a factor of five, up to two minutes. Default: 1 second.
    pub retry_delay: Duration,
    /// After what silence of its worker a job is given to another one. Default: 30 seconds.
    pub lost_after: Duration,
    /// How long a job may run. Default: 15 minutes.
    pub run_time: Duration,
    /// How long the state and the result of a job can be asked for after they last changed. Default: 7 days.
    pub keep: Duration,
    /// How long a call of a durable method, or a question for a result, waits at most. Default: 25 seconds.
    pub wait: Duration,
    /// How many callers wait at most for the results of their jobs. Default: 4,096.
    pub waiting: usize,
    /// The size of the queue, of the dead letters and of the results, in bytes each. Default: 256 MiB.
    pub bytes: usize,
}

impl Default for JobsOptions {
    fn default() -> JobsOptions {
        JobsOptions {
            attempts: 5,
            retry_delay: Duration::from_secs(1),
            lost_after: Duration::from_secs(30),
            run_time: Duration::from_secs(15 * 60),
            keep: Duration::from_secs(7 * 24 * 3600),
            wait: Duration::from_secs(25),
            waiting: 4096,
            bytes: 256 << 20,
        }
    }
}

impl JobsOptions {
    /// Sets how often a job is begun at most.
    #[must_use]
    pub fn with_attempts(self, attempts: u32) -> JobsOptions {
        JobsOptions { attempts: attempts.max(1), ..self }
    }

    /// Sets the time before the second attempt.
    #[must_use]
    pub fn with_retry_delay(self, retry_delay: Duration) -> JobsOptions {
        JobsOptions { retry_delay, ..self }
    }

    /// Sets after what silence of its worker a job is given to another one.
    #[must_use]
    pub fn with_lost_after(self, lost_after: Duration) -> JobsOptions {
        JobsOptions { lost_after, ..self }
    }

    /// Sets how long a job may run.
    #[must_use]
    pub fn with_run_time(self, run_time: Duration) -> JobsOptions {
        JobsOptions { run_time, ..self }
    }

    /// Sets how long the state and the result of a job can be asked for.
    #[must_use]
    pub fn with_keep(self, keep: Duration) -> JobsOptions {
        JobsOptions { keep, ..self }
    }

    /// Sets how long calls wait at most for the result of a job.
    #[must_use]
    pub fn with_wait(self, wait: Duration) -> JobsOptions {
        JobsOptions { wait, ..self }
    }

    /// Sets how many callers wait at most.
    #[must_use]
    pub fn with_waiting(self, waiting: usize) -> JobsOptions {
        JobsOptions { waiting, ..self }
    }

    /// Sets the size of the queue, of the dead letters and of the results.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> JobsOptions {
        JobsOptions { bytes, ..self }
    }

    /// The time after this many attempts.
    pub(super) fn delay(&self, attempts: u32) -> Duration {
        let factor = 5_u32.saturating_pow(attempts.saturating_sub(1));
        self.retry_delay.saturating_mul(factor).min(LONGEST_DELAY.max(self.retry_delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_two_minutes() {
        let delays: Vec<u64> = (1..=6).map(|n| JobsOptions::default().delay(n).as_secs()).collect();
        assert_eq!(delays, [1, 5, 25, 120, 120, 120]);
        let long = JobsOptions::default().with_retry_delay(Duration::from_secs(600));
        assert_eq!(long.delay(9), Duration::from_secs(600));
    }
}
