//! The process group of a child: started, watched, stopped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{self, Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::command::Command;
use super::members;

/// The child, what it started, and the guard that ends them if we are killed.
///
/// Dropping it kills what is left.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    /// The leader of the group, where there is one. As long as it is not waited for, the group's number stays ours.
    guard: Option<Child>,
    pid: Pid,
    grace: Duration,
    signals: Signals,
    is_over: bool,
}

/// Our ends of the child's standard streams.
pub(super) struct Pipes {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Kills its own group when its input ends without a line, and a line is never sent.
const GUARD: &str = "trap '' TERM INT HUP; read -r line || kill -s KILL 0";

impl Group {
    pub(super) fn start(command: &Command) -> io::Result<(Group, Pipes)> {
        // Before the child is there, or its end could be missed.
        let signals = signal(SignalKind::child())?;
        let mut guard = start_guard();
        let leader = guard.as_ref().map_or(0, |guard| i32::try_from(guard.id()).unwrap_or(0));
        let mut command_line = command.to_std();
        command_line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command_line.process_group(leader).spawn() {
            Ok(child) => child,
            Err(error) => {
                if let Some(guard) = &mut guard {
                    let _ = guard.kill().and_then(|()| guard.wait().map(drop));
                }
                return Err(error);
            }
        };
        let leader = guard.as_ref().unwrap_or(&child);
        let pid = Pid::from_child(leader);
        let missing = || io::Error::other("the child process has no standard stream");
        let pipes = Pipes {
            stdin: child.stdin.take().ok_or_else(missing)?.into(),
            stdout: child.stdout.take().ok_or_else(missing)?.into(),
            stderr: child.stderr.take().ok_or_else(missing)?.into(),
        };
        Ok((Group { child, guard, pid, grace: command.grace, signals, is_over: false }, pipes))
    }

    /// Tells when the child has ended, and ends the group then, or when the connection has `ended`.
    pub(super) async fn keep(
        &mut self,
        exit: watch::Sender<Option<ExitStatus>>,
        ended: oneshot::Receiver<()>,
    ) {
        let exited = tokio::select! {
            status = self.exited() => Some(status),
            // Its input is closed now.
            _ = ended => timeout(self.grace, self.exited()).await.ok(),
        };
        if let Some(status) = exited {
            exit.send_replace(status.ok());
        }
        self.signal(Signal::TERM);
        let grace = self.grace;
        let ended = async {
            if exited_is_none(&exit) {
                exit.send_replace(self.exited().await.ok());
            }
            // What the child started gets the same time to end.
            members::gone(self.pid, self.guard.as_ref().map(Child::id)).await;
        };
        let _ = timeout(grace, ended).await;
        self.finish();
        exit.send_replace(self.child.try_wait().ok().flatten());
    }

    /// Waits until the child has ended. Nothing is lost if this is dropped while it waits.
    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            self.signals.recv().await;
        }
    }

    /// How the child has ended, if it has.
    pub(super) fn has_exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn signal(&self, signal: Signal) {
        // The group may be empty.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Kills what is left of the group, once.
    fn finish(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.signal(Signal::KILL);
        // Both were killed, so this waits for moments only.
        let _ = self.child.wait();
        if let Some(guard) = &mut self.guard {
            let _ = guard.wait();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.finish();
    }
}

fn exited_is_none(exit: &watch::Sender<Option<ExitStatus>>) -> bool {
    exit.borrow().is_none()
}

/// Starts the guard, which has to be there before the child. Without a shell on the system there is none.
fn start_guard() -> Option<Child> {
    let mut command = process::Command::new("/bin/sh");
    command.args(["-c", GUARD]).env_clear().process_group(0);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = &started {
        tracing::warn!(%error, "cannot start /bin/sh: if this process is killed, child processes may keep running");
    }
    started.ok()
}
