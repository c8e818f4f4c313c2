//! How calls are lost.

use crate::call_error::CallError;
use crate::code::Code;
use crate::error::ErrorObject;
use crate::reply::Reply;

/// How a call was lost, and the error that tells.
pub(super) enum Loss {
    /// The server was not reached.
    Unreachable(CallError),
    /// The connection ended before the answer arrived.
    Closed(CallError),
    /// The server is shutting down.
    ShuttingDown(CallError),
}

impl Loss {
    /// How a call with this reply was lost, if it was.
    pub(super) fn of(reply: &Reply) -> Option<Loss> {
        match reply {
            Reply::Error(error) => Loss::of_error(error),
            _ => None,
        }
    }

    /// How a call, or a stream, that ended with this error was lost, if it was.
    pub(super) fn of_error(error: &ErrorObject) -> Option<Loss> {
        match error.local.as_deref() {
            Some(local @ CallError::Unreachable(_)) => Some(Loss::Unreachable(local.clone())),
            Some(local @ CallError::Closed(_)) => Some(Loss::Closed(local.clone())),
            None if error.code == Code::SHUTTING_DOWN => Some(Loss::ShuttingDown(error.clone().into())),
            _ => None,
        }
    }
}

/// The reply to a call whose connection broke, with what that means for it.
pub(super) fn uncertain(error: CallError) -> Reply {
    const WARNING: &str = "the call may or may not have run";
    Reply::Error(match error {
        CallError::Closed(reason) if !reason.ends_with(WARNING) => {
            CallError::Closed(format!("{reason}; {WARNING}").into()).into()
        }
        error => error.into(),
    })
}
