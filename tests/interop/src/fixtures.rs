//! The server that the conformance suite of the Model Context Protocol tests: `examples/mcp_conformance_server`.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Demo;

/// How long it may take to listen.
const LIMIT: Duration = Duration::from_secs(50);

/// The server over HTTP, until it is dropped.
#[derive(Debug)]
pub struct Fixtures {
    /// Where it answers, with the path.
    pub url: String,
    _child: Child,
    /// Kept open, so that it can go on telling.
    _stdout: Lines<BufReader<ChildStdout>>,
}

impl Fixtures {
    /// Starts it on a free port.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub async fn start() -> Fixtures {
        let mut command = Command::new(Fixtures::program());
        command.arg("127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let line = timeout(LIMIT, lines.next_line()).await.expect("it listens in time");
        let line = line.ok().flatten().expect("it says where it listens");
        let url = line.strip_prefix("MCP at ").expect("it says where it listens").to_owned();
        Fixtures { url, _child: child, _stdout: lines }
    }

    /// Where the program is. With the argument `stdio` it serves its parent.
    ///
    /// # Panics
    ///
    /// If it is not built.
    #[must_use]
    pub fn program() -> PathBuf {
        let program = Demo::program().with_file_name("examples").join("mcp_conformance_server");
        let shown = program.display();
        assert!(program.exists(), "{shown} is missing; `cargo xtask test --only interop` builds it");
        program
    }
}
