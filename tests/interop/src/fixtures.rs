//! The programs that conformance suites test: `examples/mcp_conformance_server` and `examples/a2a_conformance_agent`.

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
        Fixtures::start_program(Fixtures::program(), "MCP at ").await
    }

    /// Starts the agent on a free port.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub async fn agent() -> Fixtures {
        Fixtures::start_program(Fixtures::example("a2a_conformance_agent"), "Agent at ").await
    }

    async fn start_program(program: PathBuf, prefix: &str) -> Fixtures {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let line = timeout(LIMIT, lines.next_line()).await.expect("it listens in time");
        let line = line.ok().flatten().expect("it says where it listens");
        let url = line.strip_prefix(prefix).expect("it says where it listens").to_owned();
        Fixtures { url, _child: child, _stdout: lines }
    }

    /// Where the program is. With the argument `stdio` it serves its parent.
    ///
    /// # Panics
    ///
    /// If it is not built.
    #[must_use]
    pub fn program() -> PathBuf {
        Fixtures::example("mcp_conformance_server")
    }

    fn example(name: &str) -> PathBuf {
        let program = Demo::program().with_file_name("examples").join(name);
        let shown = program.display();
        assert!(program.exists(), "{shown} is missing; `cargo xtask test --only interop` builds it");
        program
    }
}
