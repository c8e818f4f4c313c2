//! Servers in processes of their own, and how much CPU time and memory they use.

use std::io::{self, BufRead, BufReader, Error, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use tokio::io::Join;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::options::Options;
use crate::servers::SHIPPED;

/// A running process. Dropping it ends the process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    clock: ClockId,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts the server called `name` on pipes to its standard input and from its output.
    ///
    /// # Errors
    /// When it is not built or cannot be started.
    pub fn start_stdio(name: &str, workers: usize) -> io::Result<Self> {
        if name == SHIPPED {
            return Self::spawn(program("serve", &["--stdio"], workers)?.stderr(Stdio::null()));
        }
        Self::spawn(&mut own("stdio", name, workers)?)
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pid = i32::try_from(child.id()).map_err(Error::other)?;
        Ok(Self { clock: clock_getcpuclockid(Pid::from_raw(pid))?, child })
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

    /// How many bytes of memory it occupies.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn resident(&self) -> io::Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.map(|count| count << 10).ok_or_else(|| Error::other("the kernel does not tell the memory"))
    }

    /// Its standard input and output, as one stream. There is one of them, and the runtime has to be entered.
    ///
    /// # Errors
    /// When they were taken before, or the runtime cannot wait for them.
    pub fn pipes(&mut self) -> io::Result<Join<Receiver, Sender>> {
        let taken = || Error::other("the pipes of the server are taken");
        let output: OwnedFd = self.child.stdout.take().ok_or_else(taken)?.into();
        let input: OwnedFd = self.child.stdin.take().ok_or_else(taken)?.into();
        Ok(tokio::io::join(Receiver::from_owned_fd(output)?, Sender::from_owned_fd(input)?))
    }
}

impl Server {
    /// Starts the server called `name` with `workers` runtime threads.
    ///
    /// # Errors
    /// When it is not built, or does not say where it listens.
    pub fn start(name: &str, workers: usize) -> io::Result<Self> {
        if name != SHIPPED {
            return Self::spawn(&mut own("server", name, workers)?);
        }
        let listen = ["--listen", "http://127.0.0.1:0", "--max-batch", "10000", "--max-connections", "20000"];
        Shipped::start("serve", &listen, workers)?.into_server()
    }

    /// Starts another program, which listens at this address.
    ///
    /// # Errors
    /// When it is not installed, or does not listen within five seconds.
    pub fn other(program: &str, arguments: &[&str], address: &str) -> io::Result<Self> {
        let mut command = Command::new(program);
        let process = Process::spawn(command.args(arguments).stderr(Stdio::null()))?;
        let address: SocketAddr = address.parse().map_err(Error::other)?;
        let until = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > until {
                return Err(Error::other(format!("{program} does not listen on {address}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { process, address })
    }

    /// The same, but nothing if the program is not installed and goals are not a gate.
    ///
    /// # Errors
    /// When it does not listen within five seconds, or is needed for a gate.
    pub fn optional(
        options: &Options,
        program: &str,
        arguments: &[&str],
        address: &str,
    ) -> io::Result<Option<Self>> {
        match Self::other(program, arguments, address) {
            Ok(server) => Ok(Some(server)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && options.is_gate => {
                Err(Error::other(format!("{program} is not installed, and --gate needs it")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                eprintln!("{program} is not installed, so it is left out");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a command that starts the binary `server`.
    ///
    /// # Errors
    /// When it does not start, or does not say where it listens.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut process = Process::spawn(command)?;
        let mut line = String::new();
        let stdout = process.child.stdout.take().ok_or_else(|| Error::other("the server has no output"))?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| Error::other(format!("a server said {line:?}")))?;
        Ok(Self { process, address })
    }

    /// Closes its standard input, on which it exits. Gives whether it succeeded, and its standard error if that was piped.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn finish(mut self) -> io::Result<(bool, Vec<u8>)> {
        let child = &mut self.process.child;
        drop(child.stdin.take());
        let mut said = Vec::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_end(&mut said)?;
        }
        Ok((child.wait()?.success(), said))
    }
}

/// The program that ships, with all places where it listens.
#[derive(Debug)]
pub struct Shipped {
    process: Process,
    urls: Vec<String>,
}

impl Shipped {
    /// Starts a command of the program.
    ///
    /// # Errors
    /// When it is not built, or does not say where it listens.
    pub fn start(command: &str, arguments: &[&str], workers: usize) -> io::Result<Self> {
        let mut process = Process::spawn(program(command, arguments, workers)?.stderr(Stdio::piped()))?;
        let said = process.child.stderr.as_mut().ok_or_else(|| Error::other("the server has no output"))?;
        // The pipe stays open, so that the server can go on writing.
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        let lines = lines.take_while(|line| !line.is_empty() && !line.starts_with("Press "));
        let url = |line: String| {
            let rest = line.strip_prefix("Listening on ").or_else(|| line.strip_prefix("MCP on "))?;
            rest.split(' ').next().map(|url| url.trim_end_matches("/mcp").to_owned())
        };
        let urls = lines.filter_map(url).collect();
        Ok(Self { process, urls })
    }

    /// Where it listens with this scheme.
    ///
    /// # Errors
    /// When it does not.
    pub fn address(&self, scheme: &str) -> io::Result<String> {
        let place = |url: &String| Some(url.strip_prefix(scheme)?.strip_prefix("://")?.to_owned());
        let address = self.urls.iter().find_map(place);
        address.ok_or_else(|| Error::other(format!("`switchboard` does not listen on {scheme}")))
    }

    /// The server at its address for HTTP.
    ///
    /// # Errors
    /// When it does not listen there.
    pub fn into_server(self) -> io::Result<Server> {
        let address = self.address("http")?.parse().map_err(Error::other)?;
        Ok(Server { process: self.process, address })
    }
}

impl Drop for Process {
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

/// A command that starts a server of this workspace.
fn own(binary: &str, name: &str, workers: usize) -> io::Result<Command> {
    let mut command = Command::new(sibling(binary)?);
    command.args([name, &workers.to_string()]);
    Ok(command)
}

/// A command that starts the program that ships.
fn program(command: &str, arguments: &[&str], workers: usize) -> io::Result<Command> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/switchboard");
    if !path.exists() {
        let advice = "run `cargo build --release -p switchboard-cli` in the folder above benches/";
        return Err(Error::other(format!("{} is not built; {advice}", path.display())));
    }
    let mut program = Command::new(path);
    program.arg(command).args(arguments).env("TOKIO_WORKER_THREADS", workers.to_string());
    Ok(program)
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
