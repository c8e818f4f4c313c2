//! A child as mere bytes: what it writes can be read, what it reads can be written.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::AbortHandle;

use super::StartError;
use super::command::Command;
use super::group::Group;
use super::stderr::LastWords;

/// A child and its pipes. Dropping it kills the child and what that started.
#[derive(Debug)]
pub(crate) struct Bare {
    /// Gone when our side is finished.
    input: Option<Sender>,
    output: Receiver,
    errors: AbortHandle,
    _group: Group,
}

impl Bare {
    /// Starts the program. What it says on standard error is logged.
    pub(crate) fn start(command: &Command) -> Result<Bare, StartError> {
        let failed = |error: io::Error| StartError::new(command, error);
        let (group, pipes) = Group::start(command).map_err(failed)?;
        let errors = Receiver::from_owned_fd(pipes.stderr).map_err(failed)?;
        let name = command.name();
        let errors = tokio::spawn(async move { LastWords::default().collect(errors, &name).await });
        Ok(Bare {
            input: Some(Sender::from_owned_fd(pipes.stdin).map_err(failed)?),
            output: Receiver::from_owned_fd(pipes.stdout).map_err(failed)?,
            errors: errors.abort_handle(),
            _group: group,
        })
    }

    fn input(&mut self) -> io::Result<Pin<&mut Sender>> {
        self.input.as_mut().map(Pin::new).ok_or_else(|| ErrorKind::BrokenPipe.into())
    }
}

impl AsyncRead for Bare {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().output).poll_read(cx, buf)
    }
}

impl AsyncWrite for Bare {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().input()?.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().input = None;
        Poll::Ready(Ok(()))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.errors.abort();
    }
}
