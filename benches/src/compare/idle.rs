//! The memory of a server that has just started, and of WebSocket connections on which nothing happens.

use std::io;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::ws::call;
use crate::child::Server;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Row, Section};
use crate::servers::{SHIPPED, TUNGSTENITE, TUNGSTENITE_EACH};

/// The last one has its default buffers.
const SUBJECTS: [&str; 5] = ["switchboard", SHIPPED, "jsonrpsee", TUNGSTENITE, TUNGSTENITE_EACH];

/// How many connections are opened before, so that what a server needs once is there.
const FIRST: usize = 100;

/// How long a server may take to give back what its last calls needed.
const SETTLE: Duration = Duration::from_millis(300);

const EACH: &str = "bytes each";
const START: &str = "MB at start";

/// Opens 5,000 connections (1,000 if it has to be quick), each with one call answered, and leaves them alone.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let count = if options.is_quick { 1_000 } else { 5_000 };
    let mut findings = Findings::default();
    if let Err(why) = raise_limit(count + FIRST + 100) {
        if options.is_gate {
            return Err(io::Error::other(why));
        }
        eprintln!("idle connections are not measured: {why}");
        return Ok(findings);
    }
    let mut rows = Vec::new();
    for name in SUBJECTS {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (start, each) = runtime.block_on(measure(name, count, options.workers))?;
        rows.push(Row { name: name.to_owned(), figures: vec![start.into(), each.into()] });
    }
    let title = format!("idle WebSocket connections, {count}");
    let section = Section { title, columns: vec![START, EACH], ratios: Vec::new(), rows };
    let goals = [
        Goal::on_figure(&section, EACH, Limit::AtMost(10_000.0)),
        Goal::on_figure_of(SHIPPED, &section, EACH, Limit::AtMost(5_000.0)),
        Goal::on_figure_of(SHIPPED, &section, START, Limit::AtMost(12.0)),
    ];
    findings.add(section, goals);
    Ok(findings)
}

/// The resident memory at the start in MB, and of each connection in bytes.
async fn measure(name: &str, count: usize, workers: usize) -> io::Result<(f64, f64)> {
    let server = Server::start(name, workers)?;
    tokio::time::sleep(SETTLE).await;
    let start = server.process.resident()? as f64 / 1e6;
    let mut open = Vec::new();
    for _ in 0..FIRST {
        open.push(call(&server, name).await?.0);
    }
    tokio::time::sleep(SETTLE).await;
    let before = server.process.resident()?;
    for _ in 0..count {
        open.push(call(&server, name).await?.0);
    }
    tokio::time::sleep(SETTLE).await;
    let after = server.process.resident()?;
    Ok((start, after.saturating_sub(before) as f64 / count as f64))
}

/// Lets this process, and the servers that it starts, have this many descriptors.
fn raise_limit(wanted: usize) -> Result<(), String> {
    let wanted = wanted as u64;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| error.to_string())?;
    if soft >= wanted {
        return Ok(());
    }
    if hard < wanted {
        return Err(format!("{wanted} open files are needed and {hard} allowed; raise `ulimit -Hn`"));
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_err(|error| error.to_string())
}
