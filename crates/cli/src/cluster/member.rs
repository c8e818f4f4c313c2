//! A process of the fleet.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::visible::visible;

/// How long a process may take to start.
const STARTING: Duration = Duration::from_secs(20);

/// How long a process may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// How often it is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A process of the fleet, killed when this is dropped.
pub(super) struct Member {
    pub(super) name: String,
    process: Child,
    /// What it wrote at its start.
    lines: Vec<String>,
    /// Set when it was asked to end: what it says then is not passed on.
    is_asked: Arc<AtomicBool>,
    is_over: bool,
}

impl Member {
    /// Starts a process in this group, and waits until it has written a line that ends its start.
    pub(super) fn start(
        name: &str,
        mut command: Command,
        group: i32,
        is_last: fn(&str) -> bool,
    ) -> Result<Member, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(group);
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::CannotListen, format!("cannot start {name}: {error}"))
        };
        let mut process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => super::broker::missing(&command),
            _ => failed(&error),
        })?;
        let (sender, receiver) = mpsc::channel();
        let is_asked = Arc::<AtomicBool>::default();
        if let Some(stderr) = process.stderr.take() {
            let (name, is_asked) = (name.to_owned(), Arc::clone(&is_asked));
            std::thread::spawn(move || read(&name, stderr, &sender, is_last, &is_asked));
        }
        let mut member =
            Member { name: name.to_owned(), process, lines: Vec::new(), is_asked, is_over: false };
        let until = Instant::now() + STARTING;
        loop {
            match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if is_last(&line) => return Ok(member),
                Ok(line) => member.lines.push(line),
                Err(RecvTimeoutError::Timeout) => return Err(failed(&"it does not get ready")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed(&visible(&member.lines.join("\n"))));
                }
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What follows this in a line of its start.
    pub(super) fn said(&self, start: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.split_once(start)).map(|(_, rest)| rest.trim())
    }

    /// How it has ended, if it has and this was not asked before.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        if self.is_over {
            return None;
        }
        let status = self.process.try_wait().ok().flatten()?;
        self.is_over = true;
        Some(status)
    }

    /// Asks it to end.
    pub(super) fn terminate(&mut self) {
        self.is_asked.store(true, Ordering::Relaxed);
        // A process that has ended and was waited for may have given its number to another one.
        if !self.is_over && self.ended().is_none() {
            let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        }
    }

    /// Waits until it has ended, and kills it if that takes too long.
    pub(super) fn wait(&mut self) {
        let until = Instant::now() + ENDING;
        while !self.is_over && self.ended().is_none() {
            if Instant::now() >= until {
                let _ = self.process.kill();
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads what a process writes: lines of its start for who waits, and then for the reader of our own.
fn read(
    name: &str,
    stderr: ChildStderr,
    starting: &Sender<String>,
    is_last: fn(&str) -> bool,
    is_asked: &AtomicBool,
) {
    let mut is_started = false;
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if !is_started {
            is_started = is_last(&line);
            let _ = starting.send(line);
        } else if !line.contains("[INF]") && !is_asked.load(Ordering::Relaxed) {
            output::note(&format!("{name}: {}\n", visible(&line)));
        }
    }
}
