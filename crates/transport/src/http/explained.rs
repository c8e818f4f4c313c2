//! What a failure of HTTP comes to, in words that help.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;
use switchboard_core::CallError;

#[cfg(feature = "tls")]
use super::connector::Refusal;
#[cfg(feature = "tls")]
use crate::tls;

/// The error of a request that TLS made impossible; none if it was something else.
#[cfg(feature = "tls")]
pub(super) fn refused(error: &(dyn Error + 'static), refusal: &Refusal) -> Option<CallError> {
    let found = causes(error).find_map(|cause| cause.downcast_ref().cloned());
    let tls::Explained { text, is_permanent } = found.or_else(|| refusal.take())?;
    Some(match is_permanent {
        true => CallError::CannotConnect(text.into()),
        false => CallError::Unreachable(text.into()),
    })
}

/// The error of a request to this host and port that failed.
pub(super) fn failed(error: &legacy::Error, target: &str, connect_time: Duration) -> CallError {
    match error.is_connect() {
        true => unreachable(error, target, connect_time),
        false => broken(error, target),
    }
}

/// The error of a connection to this host and port that was not made.
pub(super) fn unreachable(error: &(dyn Error + 'static), target: &str, connect_time: Duration) -> CallError {
    let io_kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    CallError::Unreachable(match io_kind {
        Some(io::ErrorKind::ConnectionRefused) => format!("nothing is listening on {target}").into(),
        Some(io::ErrorKind::TimedOut) => format!("no connection to {target} within {connect_time:?}").into(),
        _ => format!("cannot connect to {target}: {}", root(error)).into(),
    })
}

/// The error of a connection to this host and port that broke.
pub(super) fn broken(error: &(dyn Error + 'static), target: &str) -> CallError {
    let http = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
    if http.is_some_and(hyper::Error::is_parse) {
        return CallError::Transport(format!("the response from {target} is not HTTP").into());
    }
    CallError::Closed(format!("{target}: {}", root(error)).into())
}

/// The error of a response from this host and port whose end is missing.
pub(super) fn incomplete(target: &str) -> CallError {
    CallError::Closed(format!("{target} closed it in the middle of the response").into())
}

/// An error and what caused it, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}
