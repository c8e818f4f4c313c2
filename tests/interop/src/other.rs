//! Servers of others.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::programs::Program;

/// How long a server may take to listen.
const LIMIT: Duration = Duration::from_secs(50);

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Other {
    /// Where it listens.
    pub url: String,
    _child: Child,
}

impl Other {
    /// Starts a program that serves, and whose first line says where.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub async fn start(program: Program, args: &[&str]) -> Other {
        let child = program.command(args).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let line = timeout(LIMIT, lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{program:?} does not listen within {LIMIT:?}"));
        let url = line.ok().flatten().unwrap_or_else(|| panic!("{program:?} ended before it listened"));
        Other { url, _child: child }
    }
}
