//! The pause between attempts to connect that fail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::{CallError, Session};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(100);
/// The longest pause between two starts of a program, which cost something.
const LONGEST: Duration = Duration::from_secs(30);
/// The longest pause between two connections to a server, which may be back at any time.
const LONGEST_OF_SERVERS: Duration = Duration::from_secs(1);

/// A connection that breaks sooner than this without an answer did not work.
const SOON: Duration = Duration::from_secs(1);
/// A program that ends sooner than this did not work, whatever it has answered: otherwise one that ends at each call would be started for each.
const STEADY: Duration = Duration::from_secs(10);

/// Counts attempts in a row that failed.
#[derive(Debug)]
pub(super) struct Starts {
    is_program: bool,
    failed: Mutex<Failed>,
}

#[derive(Debug, Default)]
struct Failed {
    count: u32,
    until: Option<Instant>,
}

/// The attempts of one session, by those that all others share.
#[derive(Default)]
struct OwnStarts(Mutex<Vec<(Arc<Starts>, Arc<Starts>)>>);

impl Starts {
    /// Of a program, or of connections to a server.
    pub(super) fn new(is_program: bool) -> Starts {
        Starts { is_program, failed: Mutex::default() }
    }

    /// Whether a connection of this age works if it has answered.
    pub(super) fn is_steady(&self, age: Duration) -> bool {
        !self.is_program || age >= STEADY
    }

    /// Whether a connection that breaks at this age did not work.
    pub(super) fn is_young(&self, age: Duration) -> bool {
        age < if self.is_program { STEADY } else { SOON }
    }

    /// Those of a session that has its own connection: its failures are not for others.
    pub(super) fn of_session(self: &Arc<Self>, session: &Session) -> Arc<Starts> {
        let own = session.get_or_insert_with(OwnStarts::default);
        let mut own = own.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, starts)) = own.iter().find(|(link, _)| Arc::ptr_eq(link, self)) {
            return Arc::clone(starts);
        }
        let starts = Arc::new(Starts::new(self.is_program));
        own.push((Arc::clone(self), Arc::clone(&starts)));
        starts
    }

    /// Whether an attempt may be made now.
    pub(super) fn may_start(&self) -> Result<(), CallError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let left = failed.until.map(|until| until.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            None => Ok(()),
            Some(left) => {
                let text = format!("the server failed recently; next attempt in {:.1} s", left.as_secs_f64());
                Err(CallError::Unreachable(text.into()))
            }
        }
    }

    /// An attempt failed.
    pub(super) fn failed(&self) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = if self.is_program { LONGEST } else { LONGEST_OF_SERVERS };
        let pause = (FIRST * 2_u32.saturating_pow(failed.count)).min(longest);
        failed.count = (failed.count + 1).min(16);
        failed.until = Some(Instant::now() + pause.mul_f64(0.5 + fastrand::f64() / 2.0));
    }

    /// A connection broke soon after it had answered. That may happen once.
    pub(super) fn broke(&self) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.count == 0 {
            failed.count = 1;
            return;
        }
        drop(failed);
        self.failed();
    }

    /// A connection works.
    pub(super) fn worked(&self) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Failed::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_limit_and_end_with_success() {
        for (is_program, longest) in [(true, LONGEST), (false, LONGEST_OF_SERVERS)] {
            let starts = Starts::new(is_program);
            assert_eq!(starts.may_start(), Ok(()));
            for _ in 0..40 {
                starts.failed();
                assert!(starts.may_start().is_err());
                tokio::time::advance(longest).await;
                assert_eq!(starts.may_start(), Ok(()));
            }
            starts.failed();
            tokio::time::advance(longest.mul_f64(0.4)).await;
            assert!(starts.may_start().is_err());
            starts.worked();
            starts.failed();
            tokio::time::advance(FIRST).await;
            assert_eq!(starts.may_start(), Ok(()));
        }
    }
}
