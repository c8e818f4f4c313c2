//! The programs of others: where they are, how they are started, and what they say.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// How long a program may take. They take a second or two; an interpreter on a busy machine may need more.
const LIMIT: Duration = Duration::from_secs(50);

/// A program of `node/`, `python/` or `shell/`.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// A script for Node.
    Node(&'static str),
    /// A program of a package for Node, by its path among the packages.
    Package(&'static str),
    /// A script for Python.
    Python(&'static str),
    /// A script for Python with the library of A2A 0.3, which excludes the newer one.
    PythonOld(&'static str),
    /// A script for the shell, of `shell/`.
    Shell(&'static str),
}

impl Program {
    /// The words that start it.
    ///
    /// # Panics
    ///
    /// If its libraries are not installed.
    #[must_use]
    pub fn words(self) -> Vec<String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let words = match self {
            // The scripts are linked to where the libraries are, and Node looks for libraries beside the link.
            Program::Node(script) => {
                let script = installed("node/scripts").join(script);
                vec!["node".into(), "--preserve-symlinks".into(), "--preserve-symlinks-main".into(), script]
            }
            Program::Package(path) => vec!["node".into(), installed("node/node_modules").join(path)],
            Program::Python(script) => vec![installed("python/bin/python"), here.join("python").join(script)],
            Program::PythonOld(script) => {
                vec![installed("python-old/bin/python"), here.join("python").join(script)]
            }
            Program::Shell(script) => vec!["sh".into(), here.join("shell").join(script)],
        };
        words.into_iter().map(|word: PathBuf| word.display().to_string()).collect()
    }

    pub(crate) fn command(self, args: &[&str]) -> Command {
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(args);
        // A proxy is not asked for what is on this machine.
        for proxy in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env_remove(proxy);
        }
        // Nothing is written among the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// A path among what `cargo xtask test --only interop` installs.
fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os("SWITCHBOARD_INTEROP").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interop"));
    let path = folder.join(path);
    assert!(path.exists(), "{} is missing; `cargo xtask test --only interop` installs it", path.display());
    path
}

/// Runs a program to its end. It says what it found with a line a check, and ends well if all is as it should be.
///
/// # Panics
///
/// If it does not, with all that it said.
pub async fn run(program: Program, args: &[&str]) {
    let mut command = program.command(args);
    let output = timeout(LIMIT, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{program:?} did not end within {LIMIT:?}"));
    let output = output.unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    assert!(output.status.success(), "{program:?} ended with {}\n{out}\n{err}", output.status);
    assert!(out.lines().any(|line| line.starts_with("ok ")), "{program:?} checked nothing\n{out}\n{err}");
}
