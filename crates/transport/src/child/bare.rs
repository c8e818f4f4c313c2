//! A child process as raw bytes: its output to read, its input to write.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::StartError;
use super::command::Command;
use super::group::Group;
use super::stderr::LastWords;

/// How long the last words are waited for: what the child started may hold its standard error open.
const LINGER: Duration = Duration::from_millis(200);

/// A child and its pipes. Dropping it kills the child and what that started.
#[derive(Debug)]
pub(crate) struct Bare {
    /// Gone when our side is finished.
    input: Option<Sender>,
    output: Receiver,
    errors: JoinHandle<()>,
    words: LastWords,
    group: Group,
}

impl Bare {
    /// Starts the program. What it says on standard error is logged.
    pub(crate) fn start(command: &Command) -> Result<Bare, StartError> {
        let failed = |error: io::Error| StartError::new(command, error);
        let (group, pipes) = Group::start(command).map_err(failed)?;
        let errors = Receiver::from_owned_fd(pipes.stderr).map_err(failed)?;
        let (name, words) = (command.logged(), LastWords::default());
        let heard = words.clone();
        let errors = tokio::spawn(async move { heard.collect(errors, &name).await });
        Ok(Bare {
            input: Some(Sender::from_owned_fd(pipes.stdin).map_err(failed)?),
            output: Receiver::from_owned_fd(pipes.stdout).map_err(failed)?,
            errors,
            words,
            group,
        })
    }

    /// Waits until it has ended; gives how, and what it said last.
    pub(crate) async fn ended(&mut self) -> io::Result<(ExitStatus, String)> {
        let status = self.group.exited().await?;
        if !self.words.are_all() {
            let _ = timeout(LINGER, &mut self.errors).await;
        }
        Ok((status, self.words.text()))
    }

    /// The same, if it has ended by now.
    pub(crate) fn has_ended(&mut self) -> Option<(ExitStatus, String)> {
        Some((self.group.has_exited()?, self.words.text()))
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
