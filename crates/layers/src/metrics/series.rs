//! The numbers of one method.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::Code;
use switchboard_core::observer::End;

use super::histogram::{Durations, Histogram};

/// Ways of failing that are counted on their own for each method. Methods choose their codes, so these could be any number.
pub(super) const FAILURES: usize = 24;

/// How calls ended, as far as they are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CallOutcome {
    /// With a result, or a stream that ended well, or as a notification that was handled.
    Ok,
    /// With this error.
    Error(Code),
    /// With an error, after too many different codes to count them all.
    OtherError,
    /// It exceeded its time limit.
    TimedOut,
    /// Its caller cancelled it.
    Cancelled,
    /// Its handler panicked.
    Panicked,
    /// Its caller was gone before it ended.
    Abandoned,
}

impl CallOutcome {
    /// The outcome of a call that ended like this.
    #[must_use]
    pub fn of(end: End) -> CallOutcome {
        match end {
            End::TimedOut => CallOutcome::TimedOut,
            End::Cancelled => CallOutcome::Cancelled,
            End::Panicked => CallOutcome::Panicked,
            End::Abandoned => CallOutcome::Abandoned,
            end => end.failure().map_or(CallOutcome::Ok, CallOutcome::Error),
        }
    }

    /// The code of the error, if there is one to tell.
    #[must_use]
    pub fn code(self) -> Option<Code> {
        match self {
            CallOutcome::Error(code) => Some(code),
            CallOutcome::TimedOut => Some(Code::TIMED_OUT),
            CallOutcome::Cancelled => Some(Code::CANCELLED),
            CallOutcome::Panicked => Some(Code::INTERNAL_ERROR),
            CallOutcome::Ok | CallOutcome::OtherError | CallOutcome::Abandoned => None,
        }
    }

    /// The kind of failure, as OpenTelemetry names it (OBS-R-05): the code as text, or a word. Empty for a success.
    #[must_use]
    pub fn error_type(self) -> String {
        match self {
            CallOutcome::Ok => String::new(),
            CallOutcome::Error(code) => code.0.to_string(),
            CallOutcome::OtherError => super::OTHER.to_owned(),
            CallOutcome::TimedOut => "timeout".to_owned(),
            CallOutcome::Cancelled => "cancelled".to_owned(),
            CallOutcome::Panicked => "panic".to_owned(),
            CallOutcome::Abandoned => "connection_closed".to_owned(),
        }
    }
}

/// What is counted about the calls of one method.
#[derive(Debug, Default)]
pub(super) struct Series {
    ok: Histogram,
    /// Boxed: most methods fail in one or two ways, or never.
    failures: Mutex<Vec<(CallOutcome, Box<Histogram>)>>,
}

impl Series {
    pub(super) fn add(&self, outcome: CallOutcome, duration: Duration) {
        match outcome {
            CallOutcome::Ok => self.ok.add(duration),
            failure => self.add_failure(failure, duration),
        }
    }

    #[cold]
    fn add_failure(&self, failure: CallOutcome, duration: Duration) {
        let mut failures = self.failures();
        let known = failures.iter().any(|(known, _)| *known == failure);
        let key = if known || failures.len() < FAILURES { failure } else { CallOutcome::OtherError };
        match failures.iter().find(|(known, _)| *known == key) {
            Some((_, histogram)) => histogram.add(duration),
            None => {
                let histogram = Box::new(Histogram::new());
                histogram.add(duration);
                failures.push((key, histogram));
            }
        }
    }

    /// Outcomes that occurred, with the durations of their calls.
    pub(super) fn snapshot(&self) -> Vec<(CallOutcome, Durations)> {
        let ok = Some((CallOutcome::Ok, self.ok.snapshot())).filter(|(_, durations)| durations.count() > 0);
        let failures = self.failures();
        let mut failures: Vec<_> =
            failures.iter().map(|(outcome, histogram)| (*outcome, histogram.snapshot())).collect();
        failures.sort_by_key(|(outcome, _)| *outcome);
        ok.into_iter().chain(failures).collect()
    }

    fn failures(&self) -> MutexGuard<'_, Vec<(CallOutcome, Box<Histogram>)>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
