//! Standard input and output as a connection: a server that another program starts. Unix only.
//!
//! Nothing but messages may be written to standard output; log to standard error. Both ends are waited for by the
//! runtime where the system can do that (pipes, sockets, terminals), so that no thread sits in a read when the program
//! wants to end. A pipe or terminal that other programs share is not made non-blocking under them: it is opened anew.
//! Files and the like are read by a thread, which does not keep
//! the process from ending.

mod carrier;
mod descriptor;
mod thread;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::Arc;

use switchboard_core::{Connection, ConnectionError, Origin, Service};

pub(crate) use self::carrier::StdioCarrier;
use self::descriptor::{Input, Output};
use crate::framing::Framing;
use crate::stream::{self, Options};

/// The options that a server over stdio has if nobody says otherwise: one message a line.
#[must_use]
pub fn options() -> Options {
    Options::new(Framing::Lines)
}

/// Serves standard input and output until the input ends and everything is answered.
///
/// # Errors
///
/// As a connection fails. That nobody reads the output any more is an end like any other.
pub async fn serve(service: Arc<dyn Service>, options: &Options) -> Result<(), ConnectionError> {
    serve_on(io::stdin(), io::stdout(), service, options).await
}

/// Serves a pair of descriptors like standard input and output. They are duplicated, and not closed.
///
/// # Errors
///
/// As for [`serve`].
pub async fn serve_on(
    input: impl AsFd,
    output: impl AsFd,
    service: Arc<dyn Service>,
    options: &Options,
) -> Result<(), ConnectionError> {
    match connection(input, output, service, options)?.await {
        Err(ConnectionError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// A connection over a pair of descriptors, for a server that [closes](switchboard_core::Session::close) its session.
pub(crate) fn connection(
    input: impl AsFd,
    output: impl AsFd,
    service: Arc<dyn Service>,
    options: &Options,
) -> io::Result<Connection> {
    let streams = (Input::open(input.as_fd())?, Output::open(output.as_fd())?);
    let mut connection = stream::connection(streams, service, Origin::new("stdio"), options);
    connection.finish_streams();
    Ok(connection)
}
