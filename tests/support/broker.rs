//! A NATS server for tests: a real process with JetStream, on a free port, in a temporary folder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A running server. It ends, and its folder is removed, when it is dropped.
pub(crate) struct Broker {
    process: Child,
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
}

impl Broker {
    /// Starts a server, with more arguments.
    pub(crate) fn start(arguments: &[&str]) -> Broker {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-broker-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let (process, port) = spawn(&folder, "-1", &arguments);
        Broker { process, port, folder, arguments }
    }

    /// Where clients connect to.
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its process.
    #[allow(dead_code, reason = "some tests send it signals")]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the process. What it has stored stays.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it is our process");
        self.process.wait().expect("it is our process");
    }

    /// Starts it again after [`kill`](Broker::kill), on the same port.
    pub(crate) fn restart(&mut self) {
        (self.process, self.port) = spawn(&self.folder, &self.port.to_string(), &self.arguments);
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Starts the process, and waits until it accepts connections.
fn spawn(folder: &PathBuf, port: &str, arguments: &[String]) -> (Child, u16) {
    let mut process = Command::new("nats-server")
        .args(["--addr", "127.0.0.1", "--port", port, "--jetstream", "--store_dir"])
        .arg(folder)
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("nats-server is installed");
    let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut port = None;
    let mut log = String::new();
    for line in lines.by_ref() {
        if let Some((_, address)) = line.split_once("Listening for client connections on ") {
            port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        }
        if line.ends_with("Server is ready") {
            break;
        }
        log += &line;
        log.push('\n');
    }
    // It must not have to wait for a reader of its log.
    std::thread::spawn(move || lines.for_each(drop));
    let port = port.unwrap_or_else(|| panic!("nats-server did not start:\n{log}"));
    (process, port)
}
