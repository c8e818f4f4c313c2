//! What a caller gets when a call does not give a result.

use std::borrow::Cow;

use crate::code::Code;
use crate::error::{ErrorObject, FromError};
use crate::gap::Gap;

/// Why one call gave no result.
///
/// [`Rejected`](CallError::Rejected) is the far side's answer; every other variant was found out here and cannot be
/// mistaken for one (J2-74).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The far side answered with an error.
    #[error("{0}")]
    Rejected(ErrorObject),
    /// The connection ended before the answer came.
    #[error("the connection closed before the answer came: {0}")]
    Closed(Cow<'static, str>),
    /// No answer came in time.
    #[error("no answer came within the time given")]
    TimedOut,
    /// The call was cancelled on this side.
    #[error("the call was cancelled")]
    Cancelled,
    /// Too much is under way on this side; nothing was sent.
    #[error("nothing was sent: {0}")]
    Busy(Cow<'static, str>),
    /// The far side cannot be called over this carrier; nothing was sent.
    #[error("nothing was sent: {0}")]
    Unsupported(Cow<'static, str>),
    /// The far side could not be reached; nothing was sent.
    #[error("{0}")]
    Unreachable(Cow<'static, str>),
    /// The carrier failed before there was an answer of the far side, or brought something other than JSON-RPC.
    #[error("{0}")]
    Transport(Cow<'static, str>),
    /// The far side answered something that breaks the protocol.
    #[error("the answer breaks the protocol: {0}")]
    Protocol(Cow<'static, str>),
    /// The parameters cannot be written as JSON; nothing was sent.
    #[error("the parameters cannot be sent: {0}")]
    Params(Cow<'static, str>),
    /// The result came but is not of the expected type.
    #[error("the result is not what was expected: {0}")]
    Result(Cow<'static, str>),
    /// A stream was ended here, because it was read so slowly that too much of it waited.
    #[error("the stream was ended because it was read too slowly: {0}")]
    Unread(Cow<'static, str>),
    /// Items of a stream are missing here. The stream goes on.
    #[error("{0}")]
    Gap(Gap),
}

impl CallError {
    /// The far side's error, if it was the far side that refused.
    #[must_use]
    pub fn rejection(&self) -> Option<&ErrorObject> {
        match self {
            CallError::Rejected(error) => Some(error),
            _ => None,
        }
    }

    /// The error of a method that the server answered with, by its code and data. None if it answered with another error,
    /// or did not answer.
    #[must_use]
    pub fn typed<E: FromError>(&self) -> Option<E> {
        self.rejection().and_then(E::from_error)
    }

    /// The code this failure has when it is passed on to another caller.
    fn code(&self) -> Code {
        match self {
            CallError::Rejected(error) => error.code,
            CallError::TimedOut => Code::TIMED_OUT,
            CallError::Cancelled => Code::CANCELLED,
            CallError::Busy(_) | CallError::Unread(_) => Code::OVER_LIMIT,
            CallError::Gap(_) => Code::ITEMS_LOST,
            CallError::Params(_) => Code::INTERNAL_ERROR,
            CallError::Closed(_)
            | CallError::Unsupported(_)
            | CallError::Unreachable(_)
            | CallError::Transport(_)
            | CallError::Protocol(_)
            | CallError::Result(_) => Code::UPSTREAM_FAILED,
        }
    }
}

impl From<CallError> for ErrorObject {
    /// The error as it is passed on. What happened here stays here: the text is generic.
    fn from(error: CallError) -> ErrorObject {
        match error {
            CallError::Rejected(error) => error,
            local => {
                let mut error = ErrorObject::from_code(local.code());
                if let CallError::Gap(gap) = &local {
                    error = error.with_data(gap);
                }
                error.local = Some(Box::new(local));
                error
            }
        }
    }
}

impl From<ErrorObject> for CallError {
    fn from(mut error: ErrorObject) -> CallError {
        error.local.take().map_or_else(|| CallError::Rejected(error), |local| *local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_failure_survives_the_way_through_a_reply() {
        let there = ErrorObject::from(CallError::Closed("peer gone".into()));
        assert_eq!(there.code, Code::UPSTREAM_FAILED);
        assert!(there.is_local());
        assert_eq!(CallError::from(there), CallError::Closed("peer gone".into()));
    }

    #[test]
    fn a_rejection_stays_the_far_sides() {
        let error = ErrorObject::new(Code(7), "no");
        assert_eq!(CallError::from(error.clone()).rejection(), Some(&error));
    }
}
