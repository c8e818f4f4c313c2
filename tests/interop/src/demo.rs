//! The program that people run: `switchboard serve` and `switchboard gateway`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// How long it may take to listen.
const LIMIT: Duration = Duration::from_secs(50);

/// `switchboard serve` or `switchboard gateway`, until it is dropped.
#[derive(Debug)]
pub struct Demo {
    /// Where it listens.
    pub url: String,
    _child: Child,
    /// Kept open, so that it can go on telling.
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Demo {
    /// Starts it on a free port.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub async fn start() -> Demo {
        Demo::start_with(&[]).await
    }

    /// Starts it on a free port, with these options.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub async fn start_with(options: &[&str]) -> Demo {
        Demo::run("serve", options).await
    }

    /// Starts `switchboard gateway` on a free port, with these servers and options.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub async fn gateway(options: &[&str]) -> Demo {
        Demo::run("gateway", options).await
    }

    async fn run(name: &str, options: &[&str]) -> Demo {
        let mut command = Command::new(Demo::program());
        command.args([name, "--listen", "http://127.0.0.1:0"]).args(options).env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let listening = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(url) = line.strip_prefix("Listening on ") {
                    return url.to_owned();
                }
            }
            panic!("it ended before it listened");
        };
        let url = timeout(LIMIT, listening).await.expect("it listens in time");
        Demo { url, _child: child, stderr: lines }
    }

    /// The next line of its stderr with this part.
    ///
    /// # Panics
    ///
    /// If it does not write one.
    pub async fn stderr(&mut self, part: &str) -> String {
        let found = async {
            loop {
                let line = self.stderr.next_line().await.ok().flatten().expect("it goes on");
                if line.contains(part) {
                    return line;
                }
            }
        };
        timeout(LIMIT, found).await.expect("it writes it in time")
    }

    /// Where the program is.
    ///
    /// # Panics
    ///
    /// If it is not built.
    #[must_use]
    pub fn program() -> PathBuf {
        let program = std::env::var_os("SWITCHBOARD_PROGRAM").map(PathBuf::from);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = program.unwrap_or_else(|| here.join("../../target/debug/switchboard"));
        assert!(
            program.exists(),
            "{} is missing; `cargo xtask test --only interop` builds it",
            program.display()
        );
        program
    }
}
