//! What a reply says about the server that it came from.

use switchboard_core::{Call, CallError, Code, ErrorObject, Outcome, Reply};
use switchboard_transport::carrier::redacted;
use tokio::time::Instant;

use crate::limit::OwnTime;

/// A reply that may be better from another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The call certainly did not run, so it can be made again.
    Unsent,
    /// The call may have run, because its server or the connection broke.
    MayHaveRun,
    /// The server is shutting down. It says so to calls that it refuses, and to calls that it no longer waits for, which have run.
    ShuttingDown,
    /// The server answered with an error that may be its own fault, or that of the method or the caller. The call may have run.
    Answered,
}

impl Failure {
    /// How a call failed, if it did. An ordinary error of a method is not a failure.
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

    /// A code never says that a call did not run: the same code may come from the method.
    fn of_code(error: &ErrorObject) -> Option<Failure> {
        match error.code {
            Code::SHUTTING_DOWN => Some(Failure::ShuttingDown),
            Code::OVER_LIMIT | Code::INTERNAL_ERROR | Code::TIMED_OUT | Code::UPSTREAM_FAILED => {
                Some(Failure::Answered)
            }
            _ => None,
        }
    }
}

/// The longest text about a failure, in characters.
const LONGEST: usize = 200;

/// Why a call failed, for operators. Texts of the server are left out: they may quote params.
pub(crate) fn reason(reply: &Reply) -> Option<String> {
    let Outcome::Error(error) = &reply.outcome else { return None };
    let text = match error.local() {
        Some(local) => local.to_string(),
        None => format!("the server answered with the error {}", error.code),
    };
    Some(redacted(&text).chars().take(LONGEST).flat_map(char::escape_debug).collect())
}

/// What a reply says about the health of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It answered, with a result or an error: a caller may cause any error by its params.
    Works,
    /// It did not answer, or is shutting down.
    Fails,
    /// Nothing: its caller did not wait.
    Unknown,
}

/// Until when an answer is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// By the caller, if that is its own choice.
    of_caller: Option<Instant>,
    /// Before the call is sent again.
    of_attempt: Option<Instant>,
}

impl Patience {
    pub(crate) fn of(call: &Call) -> Patience {
        let Some(deadline) = call.cx.deadline else { return Patience::default() };
        match call.cx.get::<OwnTime>() {
            None => Patience { of_caller: Some(deadline), of_attempt: None },
            Some(own) => {
                Patience { of_caller: None, of_attempt: Some(deadline).filter(|_| own.is_of_attempt) }
            }
        }
    }

    /// The reply, or a failure of its server when the time of the attempt is over.
    pub(crate) async fn reply(self, reply: impl Future<Output = Reply> + Send) -> Reply {
        match self.of_attempt {
            None => reply.await,
            // Boxed, because few calls need the timer.
            Some(until) => match Box::pin(tokio::time::timeout_at(until, reply)).await {
                Ok(reply) => reply,
                Err(_) => Reply::error(CallError::TimedOut.into()),
            },
        }
    }

    /// What a reply says that arrived at this moment.
    pub(crate) fn verdict(self, reply: &Reply, at: Instant) -> Verdict {
        match Failure::of(reply) {
            None | Some(Failure::Answered) => Verdict::Works,
            Some(_) if self.of_caller.is_some_and(|until| until <= at) && is_late(reply) => Verdict::Unknown,
            Some(_) => Verdict::Fails,
        }
    }
}

/// Whether a call may have failed only because there was no more time.
fn is_late(reply: &Reply) -> bool {
    let Outcome::Error(error) = &reply.outcome else { return false };
    matches!(error.local(), Some(CallError::TimedOut | CallError::Unreachable(_)))
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
        check(code(Code::SHUTTING_DOWN), Some(Failure::ShuttingDown));
        check(code(Code::OVER_LIMIT), Some(Failure::Answered));
        check(code(Code::INTERNAL_ERROR), Some(Failure::Answered));
        check(code(Code::INVALID_PARAMS), None);
        check(code(Code(-32099)), None);
        check(Reply::value(switchboard_core::Json::TRUE), None);
    }

    #[test]
    fn reasons_are_short_and_have_no_secrets() {
        let local =
            |text: String| reason(&Reply::error(CallError::Transport(text.into()).into())).expect("an error");
        let redirect = "the server answered 302 and redirects to https://a.example/login?token=s3cret";
        assert_eq!(local(redirect.to_owned()), redirect.replace("s3cret", "***"));
        assert_eq!(local("x\u{1b}".repeat(1000)).matches('x').count(), LONGEST / 2);
        let remote = ErrorObject::new(Code::INTERNAL_ERROR, "wrong password s3cret");
        assert_eq!(
            reason(&Reply::error(remote)).as_deref(),
            Some("the server answered with the error -32603")
        );
        assert_eq!(reason(&Reply::value(switchboard_core::Json::TRUE)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_does_not_wait_says_nothing_about_the_server() {
        let (now, timed_out) = (Instant::now(), || Reply::error(CallError::TimedOut.into()));
        let mut call = Call::new("m", None);
        assert_eq!(Patience::of(&call).verdict(&timed_out(), now), Verdict::Fails);
        call.cx.deadline = Some(now);
        assert_eq!(Patience::of(&call).verdict(&timed_out(), now), Verdict::Unknown);
        let closed = Reply::error(CallError::Closed("gone".into()).into());
        assert_eq!(Patience::of(&call).verdict(&closed, now), Verdict::Fails);
        // The limit of the operator is one that servers have to keep.
        call.cx.insert(OwnTime { is_of_attempt: false });
        assert_eq!(Patience::of(&call).verdict(&timed_out(), now), Verdict::Fails);
        for code in [Code::INTERNAL_ERROR, Code::OVER_LIMIT, Code::UPSTREAM_FAILED, Code::TIMED_OUT] {
            let reply = Reply::error(ErrorObject::from_code(code));
            assert_eq!(Patience::of(&call).verdict(&reply, now), Verdict::Works, "{code}");
        }
        let leaving = Reply::error(ErrorObject::from_code(Code::SHUTTING_DOWN));
        assert_eq!(Patience::of(&call).verdict(&leaving, now), Verdict::Fails);
    }
}
