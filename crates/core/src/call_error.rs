//! The error of a call that returned no result.

use std::borrow::Cow;
use std::io::{self, ErrorKind};

use crate::code::Code;
use crate::connection::ConnectionError;
use crate::error::{ErrorObject, FromError};
use crate::gap::Gap;

/// Why a call returned no result.
///
/// [`Rejected`](CallError::Rejected) is the server's response; every other variant was detected locally and cannot be
/// mistaken for one (J2-74).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server responded with an error.
    #[error("{0}")]
    Rejected(ErrorObject),
    /// The connection closed before the response arrived.
    #[error("the connection closed before the response arrived: {0}")]
    Closed(Cow<'static, str>),
    /// No response arrived in time.
    #[error("timed out waiting for a response")]
    TimedOut,
    /// The call was cancelled on this side.
    #[error("the call was cancelled")]
    Cancelled,
    /// Too many calls are in flight on this side; nothing was sent.
    #[error("the request was not sent: {0}")]
    Busy(Cow<'static, str>),
    /// The peer cannot be called over this transport; nothing was sent.
    #[error("the request was not sent: {0}")]
    Unsupported(Cow<'static, str>),
    /// The server could not be reached; nothing was sent. A later attempt may succeed.
    #[error("{0}")]
    Unreachable(Cow<'static, str>),
    /// No connection is possible until the setup changes; nothing was sent. For example, the server's certificate
    /// is not trusted, it does not accept the credentials, or the program to start does not exist.
    #[error("{0}")]
    CannotConnect(Cow<'static, str>),
    /// The transport failed before a response arrived, or delivered something other than JSON-RPC.
    #[error("{0}")]
    Transport(Cow<'static, str>),
    /// The response violates the protocol.
    #[error("invalid response: {0}")]
    Protocol(Cow<'static, str>),
    /// The parameters cannot be serialized; nothing was sent.
    #[error("the parameters cannot be serialized: {0}")]
    Params(Cow<'static, str>),
    /// The result is not of the expected type.
    #[error("unexpected result: {0}")]
    Result(Cow<'static, str>),
    /// The stream was closed on this side, because it was read so slowly that too much of it was waiting.
    #[error("the stream was closed because it was read too slowly: {0}")]
    Unread(Cow<'static, str>),
    /// Items of a stream are missing here. The stream continues.
    #[error("{0}")]
    Gap(Gap),
}

impl CallError {
    /// The server's error, if the server rejected the call.
    #[must_use]
    pub fn rejection(&self) -> Option<&ErrorObject> {
        match self {
            CallError::Rejected(error) => Some(error),
            _ => None,
        }
    }

    /// The typed error of the method, by its code and data. None if the server responded with another error
    /// or not at all.
    #[must_use]
    pub fn typed<E: FromError>(&self) -> Option<E> {
        self.rejection().and_then(E::from_error)
    }

    /// Whether connecting again would fail with the same error: a
    /// [reconnecting peer](crate::reconnect) then stops trying. All other errors may be temporary.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            CallError::CannotConnect(_) | CallError::Unsupported(_) | CallError::Params(_) => true,
            CallError::Rejected(error) => matches!(
                error.code,
                Code::INVALID_REQUEST | Code::METHOD_NOT_FOUND | Code::INVALID_PARAMS | Code::UNAUTHORIZED
            ),
            _ => false,
        }
    }

    /// Whether nothing was sent, so that the call certainly did not run. Other failures leave that open.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            CallError::Busy(_)
                | CallError::Unsupported(_)
                | CallError::Unreachable(_)
                | CallError::CannotConnect(_)
                | CallError::Params(_)
        )
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
            | CallError::CannotConnect(_)
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

impl From<io::Error> for CallError {
    /// Why the system could not connect.
    fn from(error: io::Error) -> CallError {
        let text = error.to_string().into();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported => {
                CallError::CannotConnect(text)
            }
            _ => CallError::Unreachable(text),
        }
    }
}

impl From<&ConnectionError> for CallError {
    /// What the end of its connection means for a call that was not answered.
    fn from(error: &ConnectionError) -> CallError {
        let text = error.to_string().into();
        match error {
            // The server does not let us in: with TLS 1.3 it says so after the handshake.
            ConnectionError::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
                CallError::CannotConnect(text)
            }
            _ => CallError::Closed(text),
        }
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

    #[test]
    fn only_errors_that_stay_as_they_are_stop_attempts_to_connect() {
        let check =
            |error: CallError, is_permanent: bool| assert_eq!(error.is_permanent(), is_permanent, "{error}");
        let rejected = |code: Code| CallError::Rejected(ErrorObject::from_code(code));
        let system = |kind: ErrorKind| CallError::from(io::Error::from(kind));
        check(CallError::CannotConnect("untrusted".into()), true);
        check(CallError::Unsupported("no such scheme".into()), true);
        check(rejected(Code::UNAUTHORIZED), true);
        check(rejected(Code::METHOD_NOT_FOUND), true);
        check(system(ErrorKind::PermissionDenied), true);
        check(CallError::Unreachable("nothing is listening".into()), false);
        check(CallError::Closed("gone".into()), false);
        check(CallError::TimedOut, false);
        check(rejected(Code::SHUTTING_DOWN), false);
        check(rejected(Code::INTERNAL_ERROR), false);
        check(system(ErrorKind::ConnectionRefused), false);
    }
}
