//! Processes that are killed, paused and started again.

use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::Instant;

const SIGTERM: i32 = 15;

/// How long a process may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program, and the process that runs it now. It is killed when this is dropped.
pub(crate) struct Process {
    pub(crate) name: String,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// What it writes to stderr.
    log: PathBuf,
    child: Option<Child>,
    /// Whether it was told to end.
    is_expected_to_end: bool,
    /// The most memory of those that have ended.
    peak: usize,
}

impl Process {
    pub(crate) fn start(
        name: String,
        command: Vec<String>,
        environment: Vec<(String, String)>,
        log: PathBuf,
    ) -> Process {
        let mut process =
            Process { name, command, environment, log, child: None, is_expected_to_end: false, peak: 0 };
        process.restart();
        process
    }

    /// Starts it, if it does not run.
    pub(crate) fn restart(&mut self) {
        if self.child.is_some() {
            return;
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let (program, arguments) = self.command.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).envs(self.environment.iter().cloned()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        self.is_expected_to_end = false;
    }

    /// Starts it again if it has ended by itself. Returns how, if that is not success.
    pub(crate) fn revive(&mut self) -> Option<ExitStatus> {
        let ended = self.child.as_mut()?.try_wait().unwrap()?;
        self.child = None;
        // A process that is told to end before it is ready may do so at once.
        let is_terminated = ended.success() || ended.signal() == Some(SIGTERM);
        let is_fine = self.is_expected_to_end && is_terminated;
        self.restart();
        (!is_fine).then_some(ended)
    }

    pub(crate) fn kill(&mut self) {
        self.peak = self.memory();
        let Some(mut child) = self.child.take() else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends a signal by its name, such as `STOP`.
    pub(crate) fn signal(&mut self, name: &str) {
        if self.child.is_none() {
            return;
        }
        if name == "TERM" && std::mem::replace(&mut self.is_expected_to_end, true) {
            // A second one would have it end at once.
            return;
        }
        if name == "TERM" {
            self.peak = self.memory();
        }
        let Some(child) = &self.child else { return };
        signal(child.id(), name);
    }

    /// Waits until it has ended. None if it does not.
    pub(crate) async fn ended(&mut self) -> Option<ExitStatus> {
        let begun = Instant::now();
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while begun.elapsed() < PATIENCE {
            let child = self.child.as_mut()?;
            if let Some(status) = child.try_wait().unwrap() {
                self.child = None;
                return Some(status);
            }
            ticks.tick().await;
        }
        None
    }

    /// The most memory that it had, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.child.as_ref().map_or(0, |child| memory(child.id())).max(self.peak)
    }

    /// What its panics wrote.
    pub(crate) fn panics(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains("panicked at")).map(str::to_owned).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The most memory that a process had, in bytes.
pub(crate) fn memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// Sends a signal to a process of ours.
pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).stderr(Stdio::null()).status();
    // It may just have ended, so the status does not matter.
    sent.unwrap();
}

/// A port that nothing uses, and that the system does not give to connections: its owner may end and start again.
pub(crate) fn port() -> u16 {
    loop {
        let port = fastrand::u16(15_000..30_000);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Creates a file.
pub(crate) fn file(path: &PathBuf) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}
