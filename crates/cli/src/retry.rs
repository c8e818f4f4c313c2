//! `--retry`: which calls are sent again, and how that is announced. The rest is up to the library.

use std::sync::Arc;

use switchboard::reconnect::{Backoff, ConnectionState, RepeatPolicy, Watch};
use switchboard::{Call, CallError};
use tokio::sync::OnceCell;

use crate::discovery;
use crate::exit::is_too_long;
use crate::output;
use crate::session::Line;
use crate::visible::visible;

/// Which calls that may have run are sent again: all if the caller says so, otherwise those that the server describes as
/// safe or idempotent. The server is asked once, and only if it matters.
pub(crate) fn policy(are_all_repeatable: bool) -> RepeatPolicy {
    let found = Arc::new(OnceCell::new());
    RepeatPolicy::new(move |lost| {
        let found = Arc::clone(&found);
        async move {
            if let Some(is_repeated) = decide(&lost.call, &lost.error, are_all_repeatable) {
                return Ok(is_repeated);
            }
            let ask = async || discovery::of(&Line::new(lost.connection().await?, discovery::BRIEFLY)).await;
            match found.get_or_try_init(ask).await {
                Ok(found) => Ok(found.is_repeatable(lost.call.method.as_str())),
                Err(error @ (CallError::Unreachable(_) | CallError::Closed(_))) => Err(error),
                // It does not describe its methods.
                Err(_) => Ok(false),
            }
        }
    })
}

/// Whether a call is sent again, if that is known without asking the server.
fn decide(call: &Call, error: &CallError, are_all_repeatable: bool) -> Option<bool> {
    match error {
        // The answer would be too long again.
        error if is_too_long(error) => Some(false),
        // A server that is shutting down refused it.
        CallError::Rejected(rejection) if rejection.is_refused_at_shutdown() => Some(true),
        _ if are_all_repeatable || call.is_repeatable() => Some(true),
        _ if call.is_notification() => Some(false),
        _ => None,
    }
}

/// Announces each further attempt on stderr.
pub(crate) async fn announce(mut watch: Watch, backoff: Backoff) {
    let all = backoff.attempts.map_or(String::new(), |attempts| format!(" of {attempts}"));
    while let Some(state) = watch.next().await {
        if let ConnectionState::Waiting { attempt, reason, .. } = state {
            output::note(&format!("warning: {}; retrying (attempt {attempt}{all})\n", visible(&reason)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::{Code, ErrorObject};

    #[test]
    fn a_call_that_may_have_run_is_retried_only_if_running_twice_does_no_harm() {
        let gone = || CallError::Closed("gone".into());
        let check = |call: Call, error: CallError, are_all: bool, expected: Option<bool>| {
            assert_eq!(decide(&call, &error, are_all), expected, "{call:?} {error}");
        };
        let (call, notification) = (|| Call::new("a", None), || Call::notification("a", None));
        check(call().repeatable(), gone(), false, Some(true));
        check(call(), gone(), true, Some(true));
        check(notification(), gone(), true, Some(true));
        check(notification(), gone(), false, Some(false));
        // The server has to say.
        check(call(), gone(), false, None);
        let refused = || CallError::Rejected(ErrorObject::from_code(Code::SHUTTING_DOWN));
        check(call(), refused(), false, Some(true));
        let stopped = || CallError::Rejected(ErrorObject::stopped());
        check(call(), stopped(), false, None);
        check(call().repeatable(), stopped(), false, Some(true));
        let too_long = CallError::Closed("a frame exceeds the limit of 5 bytes (limits.frame)".into());
        check(call().repeatable(), too_long, true, Some(false));
    }
}
