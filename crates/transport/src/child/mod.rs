//! A child process as a server: its standard input and output carry the messages. Unix only.
//!
//! The child and its descendants are one process group, which ends with the connection: its input is closed, then it
//! is asked to exit, then it is killed. A small process beside it, the guard, does the last even if this process is
//! killed: it waits for the end of a pipe that only we hold open.
//!
//! A child started by [`connect`] stays gone when it exits. One started by [`reconnect()`] is restarted.

mod bare;
mod carrier;
mod command;
mod group;
mod members;
mod sink;
mod source;
mod stderr;

use std::io::{self, ErrorKind};
use std::sync::Arc;

pub(crate) use bare::Bare;
pub(crate) use carrier::ChildCarrier;
pub use command::{BadCommand, Command};
use switchboard_core::reconnect::{self, ReconnectingPeer};
use switchboard_core::{CallError, Connection, Engine, Origin, Peer, Service};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{oneshot, watch};

use self::group::Group;
use self::sink::Sink;
use self::source::Source;
use self::stderr::LastWords;
use crate::running::log_end;
use crate::stream::{self, StreamOptions};

/// Why a child did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The program does not exist.
    #[error("`{0}` was not found: give its full path, or install it in a directory on PATH")]
    NotFound(String),
    /// The system could not start it.
    #[error("cannot start `{program}`: {error}")]
    Failed {
        /// The program.
        program: String,
        /// The system's error.
        error: io::Error,
    },
}

impl StartError {
    fn new(command: &Command, error: io::Error) -> StartError {
        match error.kind() {
            ErrorKind::NotFound => StartError::NotFound(command.name()),
            _ => StartError::Failed { program: command.name(), error },
        }
    }
}

impl From<StartError> for CallError {
    /// A program that does not exist, or may not be started, fails the next time, too.
    fn from(error: StartError) -> CallError {
        let text = error.to_string().into();
        let is_permanent = match error {
            StartError::NotFound(_) => true,
            StartError::Failed { error, .. } => CallError::from(error).is_permanent(),
        };
        if is_permanent { CallError::CannotConnect(text) } else { CallError::Unreachable(text) }
    }
}

/// Starts a program, and restarts it when it exits.
///
/// See [`reconnect`](mod@reconnect) for what happens to calls and streams meanwhile, and for the delays between attempts. A
/// program that exits sooner than [`steady`](reconnect::Backoff::steady) counts as a failed attempt. The number of failed
/// attempts in a row is unlimited unless [`attempts`](reconnect::Backoff::attempts) bounds it. A program that cannot be
/// started at all is not tried again.
///
/// # Panics
///
/// Outside of a Tokio runtime.
///
/// # Examples
///
/// ```no_run
/// use std::sync::Arc;
/// use switchboard_core::Router;
/// use switchboard_core::reconnect::{Backoff, ReconnectOptions};
/// use switchboard_transport::{child, stdio};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let nothing = Arc::new(Router::builder().build()?);
/// let backoff = Backoff::default().with_attempts(Some(5));
/// let options = ReconnectOptions::default().with_backoff(backoff);
/// let child = child::reconnect("my-server --quiet".parse()?, nothing, stdio::options(), options);
/// let sum: i64 = child.peer().call("add", [2, 3]).repeatable().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it stops the child process"]
pub fn reconnect(
    command: Command,
    service: Arc<dyn Service>,
    options: StreamOptions,
    reconnect: reconnect::ReconnectOptions,
) -> ReconnectingPeer {
    let start = move || {
        let (command, service, options) = (command.clone(), Arc::clone(&service), options.clone());
        async move { connect(&command, service, &options).await }
    };
    ReconnectingPeer::with_options(start, reconnect)
}

/// Starts a program and returns it as a peer; `service` answers its calls.
///
/// The child is stopped when the last clone of the peer is dropped, see [`running::run`](crate::running::run). When it exits by
/// itself, calls fail with [`CallError::Closed`], with its exit status and its
/// last output on standard error.
///
/// # Errors
///
/// When it cannot be started. If it exits at once, the first call fails.
#[expect(clippy::unused_async, reason = "it needs a runtime, and says so")]
pub async fn connect(
    command: &Command,
    service: Arc<dyn Service>,
    options: &StreamOptions,
) -> Result<Peer, StartError> {
    let failed = |error: io::Error| StartError::new(command, error);
    let (mut group, pipes) = Group::start(command).map_err(failed)?;
    let (exit, exited) = watch::channel(None);
    let words = LastWords::default();
    let input = Sender::from_owned_fd(pipes.stdin).map_err(failed)?;
    let output = Receiver::from_owned_fd(pipes.stdout).map_err(failed)?;
    let errors = Receiver::from_owned_fd(pipes.stderr).map_err(failed)?;
    let (source, sink) = stream::frames(output, input, options);
    let held = Arc::clone(&service);
    let source = Source::new(source, exited, command.name(), words.clone());
    let (_, connection) = Connection::new(
        source,
        Sink::new(sink),
        Engine::new(service, Arc::clone(&options.settings)),
        Origin::new("child"),
    );
    let peer = connection.owning_peer();
    let (end, ended) = oneshot::channel::<()>();
    let name = command.logged();
    tokio::spawn(async move {
        let connected = async {
            log_end(connection).await;
            drop(end);
        };
        // Dropping this task, with the runtime, drops the group, which kills it.
        tokio::join!(connected, group.keep(exit, ended), words.collect(errors, &name));
        // That it is dropped tells its owner that all is over.
        drop(held);
    });
    Ok(peer)
}
