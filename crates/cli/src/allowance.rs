//! The time that a call has, and who noticed that it is over.

use std::time::Duration;

use switchboard::{CallError, Code};
use tokio::time::Instant;

/// The time that a call has from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// When it is over.
    pub(crate) until: Instant,
    /// A server that knows the time left answers in these last moments that it is over.
    last: Duration,
}

/// As long are the last moments at most. Each hop of a call keeps a twentieth of its time for the way back, up to 50 ms, so
/// this is enough for some of them.
const LAST: Duration = Duration::from_millis(250);

impl Allowance {
    /// So much time from now on.
    pub(crate) fn new(time: Duration) -> Allowance {
        Allowance { until: Instant::now() + time, last: LAST.min(time / 5) }
    }

    /// What a failure that came now means. The server's word that the time is over is ours: it is the time that we gave it.
    /// One that comes sooner is about another timeout of the server.
    pub(crate) fn judge(self, error: CallError) -> CallError {
        let is_over = Instant::now() + self.last >= self.until;
        match error {
            CallError::Rejected(error) if error.code == Code::TIMED_OUT && is_over => CallError::TimedOut,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::ErrorObject;

    #[tokio::test(start_paused = true)]
    async fn only_in_its_last_moments_a_time_out_of_the_far_side_is_that_of_the_call() {
        let check = async |time: u64, passed: u64, is_ours: bool| {
            let allowance = Allowance::new(Duration::from_millis(time));
            tokio::time::advance(Duration::from_millis(passed)).await;
            let theirs = CallError::Rejected(ErrorObject::from_code(Code::TIMED_OUT));
            let expected = if is_ours { CallError::TimedOut } else { theirs.clone() };
            assert_eq!(allowance.judge(theirs), expected, "{passed} of {time} ms");
            let other = CallError::Rejected(ErrorObject::from_code(Code::METHOD_NOT_FOUND));
            assert_eq!(allowance.judge(other.clone()), other);
        };
        check(30_000, 29_950, true).await;
        check(30_000, 29_000, false).await;
        check(30_000, 0, false).await;
        check(500, 475, true).await;
        check(500, 300, false).await;
        check(10, 9, true).await;
    }
}
