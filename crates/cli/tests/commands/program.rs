//! Runs the real program. Whatever is started here ends with its test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

/// The program with these arguments, without what this environment says about logs and colours.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(arguments).env_remove("RUST_LOG").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.env_remove("SWITCHBOARD_TOKEN");
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

/// Runs the program to its end with this on its stdin.
pub(crate) fn run_with(input: &str, arguments: &[&str]) -> Output {
    let mut command = program(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What the program wrote and how it ended: code, stdout, stderr.
pub(crate) fn parts(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// `switchboard serve`, killed when dropped.
pub(crate) struct Serving {
    child: Child,
    /// Until somebody else reads it.
    stderr: Option<BufReader<ChildStderr>>,
    /// All that it said at its start.
    pub(crate) banner: String,
}

impl Serving {
    /// Starts a server on a free port, and reads its banner.
    pub(crate) fn start(more: &[&str]) -> Serving {
        Serving::spawn(program(&Serving::arguments(more)))
    }

    /// The same under a limit on open files, as `ulimit` sets it.
    #[cfg(unix)]
    pub(crate) fn start_under(limit: &str, more: &[&str]) -> Serving {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_switchboard")).args(Serving::arguments(more));
        command.env_remove("RUST_LOG").stdin(Stdio::null());
        Serving::spawn(command)
    }

    fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["serve", "--listen", "http://127.0.0.1:0"], more].concat()
    }

    /// Starts a command that serves, and reads its banner.
    pub(crate) fn spawn(mut command: Command) -> Serving {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut serving = Serving { child, stderr: Some(stderr), banner: String::new() };
        serving.banner = serving.read_until("Ctrl-C");
        serving
    }

    /// What it writes to stderr up to the line that holds this.
    pub(crate) fn read_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        let stderr = self.stderr.as_mut().expect("nobody else reads it");
        let mut last = 0;
        while !text[last..].contains(end) {
            last = text.len();
            assert!(stderr.read_line(&mut text).unwrap() > 0, "no {end:?} in {text}");
        }
        text
    }

    /// Reads all else that it writes to stderr, to its end.
    pub(crate) fn log(&mut self) -> JoinHandle<String> {
        let mut stderr = self.stderr.take().expect("nobody else reads it");
        std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        })
    }

    /// Every URL that it listens on.
    pub(crate) fn urls(&self) -> Vec<String> {
        let found = self.banner.lines().filter_map(|line| line.strip_prefix("Listening on "));
        found.map(str::to_owned).collect()
    }

    /// The first URL.
    pub(crate) fn url(&self) -> String {
        self.urls().remove(0)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its memory as the system gives it under this name, in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self, name: &str) -> usize {
        memory(self.id(), name)
    }

    /// Sends it a signal by its name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for its end, while another process still writes to its stderr.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits for its end, while nobody reads what it wrote.
    pub(crate) fn wait_unread(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits for its end; gives what it wrote to stdout, too.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap(), stdout)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory of a process as the system gives it under this name, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn memory(process: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    value.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// A listener on a free port, and its URL.
pub(crate) fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// The URL of a server that answers its first connection with this, whatever it is asked.
pub(crate) fn answering(answer: &'static str) -> String {
    let (listener, url) = listener();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The caller closes its end when it has read the answer.
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    url
}

/// The answer to a POST with this further header, as the simplest client makes it.
pub(crate) fn post(url: &str, header: &str, body: &str) -> Value {
    let place = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(place).unwrap();
    let (end, length) = (if header.is_empty() { "" } else { "\r\n" }, body.len());
    let head = format!("POST / HTTP/1.1\r\nhost: {place}\r\n{header}{end}content-type: application/json");
    write!(stream, "{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}
