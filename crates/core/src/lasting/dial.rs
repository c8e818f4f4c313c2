//! Why a connection could not be made.

use std::borrow::Cow;
use std::io::{self, ErrorKind};

/// Why an attempt to connect failed, and whether another one can do better.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// Nobody answers, or not in time: it may be better later.
    #[error("{0}")]
    Unreachable(Cow<'static, str>),
    /// It will be the same the next time, until somebody changes something: a certificate that is not valid, credentials
    /// that are not accepted, an address that cannot be. No more attempts are made.
    #[error("{0}")]
    Refused(Cow<'static, str>),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> DialError {
        let text = error.to_string().into();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported => {
                DialError::Refused(text)
            }
            _ => DialError::Unreachable(text),
        }
    }
}
