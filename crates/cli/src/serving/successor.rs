//! A process that takes over the listening sockets of this one: the same program, which may have been upgraded, with the same arguments.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use tokio::io::AsyncReadExt as _;

use super::sockets::READY;

/// How long a successor may take to start.
const START_TIME: Duration = Duration::from_secs(60);

/// How long it may take to end after it has given up.
const END_TRIES: u32 = 250;
const END_PAUSE: Duration = Duration::from_millis(20);

/// The first file after those for input, output and errors, where passed sockets begin.
const FIRST: i32 = 3;

/// What a successor needs. The sockets stay open as long as this exists.
pub(super) struct Successor {
    program: PathBuf,
    arguments: Vec<OsString>,
    sockets: Vec<(String, OwnedFd)>,
}

impl Successor {
    /// A successor with these sockets. None if there is one that cannot be passed on.
    pub(super) fn new(names: Vec<String>, sockets: Vec<Option<OwnedFd>>) -> Option<Successor> {
        let sockets = names.into_iter().zip(sockets).map(|(name, socket)| Some((name, socket?)));
        let mut arguments = std::env::args_os();
        let program = program(Path::new(&arguments.next()?));
        Some(Successor { program, arguments: arguments.collect(), sockets: sockets.collect::<Option<_>>()? })
    }

    /// Adds sockets.
    pub(super) fn add(&mut self, name: &str, sockets: Vec<Option<OwnedFd>>) {
        self.sockets.extend(sockets.into_iter().flatten().map(|socket| (name.to_owned(), socket)));
    }

    /// Starts it and waits until it serves; gives its process identifier. The error is why it does not.
    pub(super) async fn start(&self) -> Result<u32, String> {
        let (ready, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let cannot =
            |error: &dyn std::fmt::Display| format!("cannot start {}: {error}", self.program.display());
        let starting = Starting(Some(self.spawn(theirs).map_err(|error| cannot(&error))?));
        let is_ready = async {
            ready.set_nonblocking(true)?;
            let mut text = [0; 6];
            tokio::net::UnixStream::from_std(ready)?.read_exact(&mut text).await
        };
        match tokio::time::timeout(START_TIME, is_ready).await {
            Ok(Ok(_)) => starting.ready().ok_or_else(|| "it has ended".to_owned()),
            Ok(Err(_)) => Err(match starting.end().await {
                Some(status) => format!("it ended with {status}"),
                None => "it closed the connection to this process".to_owned(),
            }),
            Err(_) => Err(format!("it was not ready after {} s", START_TIME.as_secs())),
        }
    }

    fn spawn(&self, ready: UnixStream) -> io::Result<Child> {
        let all = self.sockets.iter().map(|(name, socket)| Ok((name.as_str(), socket.try_clone()?)));
        let mut all = all.collect::<io::Result<Vec<(&str, OwnedFd)>>>()?;
        all.push((READY, ready.into()));
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_remove("LISTEN_PID");
        command.env("LISTEN_FDS", names.len().to_string()).env("LISTEN_FDNAMES", names.join(":"));
        let mappings = (FIRST..).zip(all).map(|(child_fd, (_, parent_fd))| FdMapping { parent_fd, child_fd });
        command.fd_mappings(mappings.collect()).map_err(io::Error::other)?;
        command.spawn()
    }
}

/// A process that is ended, unless it becomes ready.
struct Starting(Option<Child>);

impl Starting {
    fn ready(mut self) -> Option<u32> {
        self.0.take().map(|child| child.id())
    }

    /// Waits a moment for the end of a process that has given up: it may still have to say why.
    async fn end(mut self) -> Option<ExitStatus> {
        let child = self.0.as_mut()?;
        for _ in 0..END_TRIES {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            tokio::time::sleep(END_PAUSE).await;
        }
        None
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program as it was called, so that a link to another version is followed. A name without a folder is searched for again.
fn program(called: &Path) -> PathBuf {
    match called.components().count() {
        0 => std::env::current_exe().unwrap_or_default(),
        1 => called.to_owned(),
        _ => std::path::absolute(called).unwrap_or_else(|_| called.to_owned()),
    }
}
