//! What a reply says about the server that it came from.

use switchboard_core::{CallError, Code, ErrorObject, Outcome, Reply};

/// A reply that counts against its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The call certainly did not run, so it can be made again.
    Unsent,
    /// The call may have run.
    MayHaveRun,
}

impl Failure {
    /// How a server failed, if it did. An ordinary error of a method is not a failure.
    pub(crate) fn of(reply: &Reply) -> Option<Failure> {
        let Outcome::Error(error) = &reply.outcome else { return None };
        match error.local() {
            Some(local) => Failure::of_local(local),
            None => Failure::of_code(error),
        }
    }

    fn of_local(error: &CallError) -> Option<Failure> {
        match error {
            CallError::Closed(_)
            | CallError::TimedOut
            | CallError::Transport(_)
            | CallError::Protocol(_)
            | CallError::Result(_) => Some(Failure::MayHaveRun),
            CallError::Busy(_) | CallError::Unreachable(_) | CallError::CannotConnect(_) => {
                Some(Failure::Unsent)
            }
            _ => None,
        }
    }

    fn of_code(error: &ErrorObject) -> Option<Failure> {
        match error.code {
            // A server that is shutting down or that is over its limits refuses calls before they run.
            Code::OVER_LIMIT => Some(Failure::Unsent),
            Code::SHUTTING_DOWN if error.is_refused_at_shutdown() => Some(Failure::Unsent),
            Code::SHUTTING_DOWN | Code::INTERNAL_ERROR | Code::TIMED_OUT | Code::UPSTREAM_FAILED => {
                Some(Failure::MayHaveRun)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_server_count() {
        let check = |reply: Reply, expected: Option<Failure>| {
            assert_eq!(Failure::of(&reply), expected, "{reply:?}");
        };
        let local = |error: CallError| Reply::error(error.into());
        let code = |code: Code| Reply::error(ErrorObject::from_code(code));
        check(local(CallError::Unreachable("no".into())), Some(Failure::Unsent));
        check(local(CallError::Busy("full".into())), Some(Failure::Unsent));
        check(local(CallError::Closed("gone".into())), Some(Failure::MayHaveRun));
        check(local(CallError::TimedOut), Some(Failure::MayHaveRun));
        check(local(CallError::Cancelled), None);
        check(code(Code::SHUTTING_DOWN), Some(Failure::Unsent));
        check(Reply::error(ErrorObject::stopped()), Some(Failure::MayHaveRun));
        check(code(Code::INTERNAL_ERROR), Some(Failure::MayHaveRun));
        check(code(Code::INVALID_PARAMS), None);
        check(code(Code(-32099)), None);
        check(Reply::value(switchboard_core::Json::TRUE), None);
    }
}
