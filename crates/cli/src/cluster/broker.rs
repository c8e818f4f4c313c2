//! The NATS server of the fleet.

use std::path::Path;
use std::process::Command;

use crate::exit::Exit;
use crate::failure::Failure;

/// What starts a server at a free port of this machine, which keeps its files in this folder.
pub(super) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir"]).arg(folder);
    command
}

/// Whether this is its last line before it takes connections.
pub(super) fn is_ready(line: &str) -> bool {
    line.ends_with("Server is ready")
}

/// The program was not found.
pub(super) fn missing(command: &Command) -> Failure {
    let program = command.get_program().to_string_lossy();
    let advice = "install the NATS server (`apt install nats-server`, `brew install nats-server`, or https://nats.io/download), give its path with \
         `--nats-server PATH`, or use one that runs with `--broker nats://HOST:PORT`";
    Failure::new(Exit::Unreachable, format!("cannot find the program {program}")).advise(advice)
}
