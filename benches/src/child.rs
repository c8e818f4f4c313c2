//! A server in a process of its own, and how much CPU time it has used.

use std::io::{self, BufRead, BufReader, Error};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

/// A running server. Dropping it ends the process.
#[derive(Debug)]
pub struct Server {
    child: Child,
    clock: ClockId,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts the server called `name` with `workers` runtime threads.
    ///
    /// # Errors
    /// When the binary is not built, or the server does not say where it listens.
    pub fn start(name: &str, workers: usize) -> io::Result<Self> {
        let mut child = Command::new(sibling("server")?)
            .args([name, &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or_else(|| Error::other("the server has no output"))?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address =
            line.trim().parse().map_err(|_| Error::other(format!("server {name} said {line:?}")))?;
        let pid = i32::try_from(child.id()).map_err(Error::other)?;
        Ok(Self { clock: clock_getcpuclockid(Pid::from_raw(pid))?, child, address })
    }

    /// The CPU time, user and system, of all its threads so far.
    ///
    /// This is the scheduler's own sum in nanoseconds, not the 10 ms ticks of `/proc/PID/stat`. It lags by up to one tick
    /// for a thread that is running at this moment, so read it when the server is idle.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn cpu_time(&self) -> io::Result<Duration> {
        Ok(self.clock.now()?.into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; waiting for it is what matters.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of this process so far.
///
/// # Errors
/// When there is no such clock.
pub fn own_cpu_time() -> io::Result<Duration> {
    Ok(ClockId::CLOCK_PROCESS_CPUTIME_ID.now()?.into())
}

/// The path of another binary of this workspace, next to the one that runs.
///
/// # Errors
/// When it is not built.
pub fn sibling(name: &str) -> io::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.exists() {
        return Ok(path);
    }
    Err(Error::other(format!("{} is not built; run `cargo build --release` in benches/", path.display())))
}
