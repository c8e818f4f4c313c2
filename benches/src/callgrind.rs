//! Counts user instructions with valgrind's callgrind. Unlike times, counts are the same on a busy machine.
//!
//! The cost of a call is the difference between two runs, divided by the number of additional calls, so startup cancels out.

use std::io::{self, Error};
use std::process::{Command, Stdio};

use crate::child::{Server, sibling};
use crate::load::Load;
use crate::servers;
use crate::workload::Workload;

/// The instructions of one call of the in-process case called `case`.
///
/// # Errors
/// When valgrind is not there, or the case fails.
pub fn in_process(case: &str, workload: Workload) -> io::Result<f64> {
    count_calls(case, workload, &[])
}

/// The same, but only what happens inside the function called `function`, which may contain wildcards.
///
/// # Errors
/// When valgrind is not there, or the case fails.
pub fn in_process_within(function: &str, case: &str, workload: Workload) -> io::Result<f64> {
    count_calls(case, workload, &["--collect-atstart=no".to_owned(), format!("--toggle-collect={function}")])
}

fn count_calls(case: &str, workload: Workload, options: &[String]) -> io::Result<f64> {
    let counts = match workload {
        Workload::Batch(_) => (20, 60),
        _ => (1000, 3000),
    };
    each(counts, |calls| {
        let mut command = callgrind();
        command.args(options).arg(sibling("case")?).args([case, &workload.title(), &calls.to_string()]);
        let output = command.output().map_err(|error| missing(&error))?;
        collected(case, output.status.success(), &output.stderr)
    })
}

/// The instructions of the server called `name` for one request with these headers, on a connection that stays open.
///
/// # Errors
/// When valgrind is not there, or the server fails.
pub fn over_http(name: &str, headers: &str) -> io::Result<f64> {
    each((500, 2500), |requests| {
        let mut command = callgrind();
        command.arg(sibling("server")?).args([name, "1"]).stderr(Stdio::piped());
        let server = Server::spawn(&mut command).map_err(|error| missing(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let body = Workload::Add.body();
            let is_right = |answer: &[u8]| servers::is_right(name, Workload::Add, answer);
            let mut load = Load::open(server.address, 1, headers, &body, is_right).await?;
            load.repeat(requests).await
        })?;
        let (is_success, said) = server.finish()?;
        collected(name, is_success, &said)
    })
}

fn each((few, many): (u32, u32), count: impl Fn(u32) -> io::Result<f64>) -> io::Result<f64> {
    Ok((count(many)? - count(few)?) / f64::from(many - few))
}

fn callgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
}

fn missing(error: &Error) -> Error {
    Error::other(format!("valgrind does not start: {error}"))
}

fn collected(name: &str, is_success: bool, said: &[u8]) -> io::Result<f64> {
    let said = String::from_utf8_lossy(said);
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    match count {
        Some(count) if is_success => Ok(count),
        _ => Err(Error::other(format!("valgrind could not count {name}:\n{said}"))),
    }
}
