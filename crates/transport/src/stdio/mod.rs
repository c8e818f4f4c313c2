//! Standard input and output as a connection: a server started by another program. Unix only.
//!
//! Only messages may be written to standard output; log to standard error. The runtime waits for both ends
//! where the system supports that (pipes, sockets, terminals), so that no thread is blocked in a read when the program
//! wants to exit. A pipe or terminal that other programs share is not made non-blocking under them: it is opened again.
//! Files and the like are read by a thread, which does not keep
//! the process from exiting.

mod carrier;
mod descriptor;
mod failure;
mod thread;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::Arc;

use switchboard_core::{Connection, ConnectionError, Origin, Service};

pub(crate) use self::carrier::StdioCarrier;
use self::descriptor::{Input, Output};
pub use self::failure::OutputFailure;
use crate::framing::Framing;
use crate::stream::{self, StreamOptions};

/// The default options of a server over stdio: one message per line.
#[must_use]
pub fn options() -> StreamOptions {
    StreamOptions::new(Framing::Lines)
}

/// Serves standard input and output until the input ends and all calls are answered.
///
/// # Errors
///
/// When the connection fails. A reader of the output that is gone is a normal end.
pub async fn serve(service: Arc<dyn Service>, options: &StreamOptions) -> Result<(), ConnectionError> {
    serve_on(io::stdin(), io::stdout(), service, options).await
}

/// Serves a pair of file descriptors like standard input and output. They are duplicated, and not closed.
///
/// # Errors
///
/// As for [`serve`].
pub async fn serve_on(
    input: impl AsFd,
    output: impl AsFd,
    service: Arc<dyn Service>,
    options: &StreamOptions,
) -> Result<(), ConnectionError> {
    match connection(input, output, service, options, OutputFailure::default())?.await {
        Err(ConnectionError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// A connection over a pair of descriptors, for a server that [closes](switchboard_core::Session::close) its session.
pub(crate) fn connection(
    input: impl AsFd,
    output: impl AsFd,
    service: Arc<dyn Service>,
    options: &StreamOptions,
    failure: OutputFailure,
) -> io::Result<Connection> {
    let streams = (Input::open(input.as_fd())?, Output::open(output.as_fd(), failure)?);
    Ok(stream::connection(streams, service, Origin::new("stdio"), options))
}
