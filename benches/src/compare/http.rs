//! One call a request over HTTP/1.1 keep-alive.

use std::io;
use std::time::Duration;

use super::interleave;
use crate::child::{Server, own_cpu_time};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::load::Load;
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::servers::{self, CONSTANT, HTTP, SHIPPED};
use crate::workload::{USUAL_HEADERS, Workload};

/// How long a server may warm up before each round.
const WARM_UP: Duration = Duration::from_millis(50);

/// How long a server is left alone before its CPU time is read: longer than a tick of the kernel.
const SETTLE: Duration = Duration::from_millis(15);

/// What the load generator itself needs for a request: while it is less than the server's, the server is the limit.
pub(super) const LOAD: &str = "load us";

const CPU: Ratio = Ratio { column: "CPU us", base: CONSTANT };
const RATE: Ratio = Ratio { column: "requests/s", base: "jsonrpsee" };

/// Compares single calls over 16 and over 64 connections, and with the headers of production traffic.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let with_headers = ", usual headers";
    // The last is how much CPU time the shipped program may take, compared with bare hyper.
    for (connections, note, headers, most) in
        [(16, "", "", 1.0), (64, "", "", 1.0), (16, with_headers, USUAL_HEADERS, 1.06)]
    {
        let section = Section {
            title: format!("HTTP, {connections} connections{note}"),
            columns: vec![RATE.column, CPU.column, LOAD],
            ratios: vec![RATE, Ratio { base: "jsonrpsee", ..CPU }, CPU],
            rows: measure(options, HTTP, Workload::Add, headers, connections)?,
        };
        let goals = [
            Goal::on_ratio(&section, CPU, Limit::AtMost(1.08)),
            Goal::on_ratio_of(SHIPPED, &section, CPU, Limit::AtMost(most)),
            Goal::on_ratio(&section, RATE, Limit::AtLeast(1.3)),
        ];
        findings.add(section, goals);
    }
    Ok(findings)
}

/// Requests a second, and CPU time a request in microseconds, of these servers and of the load generator with it.
pub(super) fn measure(
    options: &Options,
    names: &[&str],
    workload: Workload,
    headers: &str,
    connections: usize,
) -> io::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let body = workload.body();
    let mut subjects = Vec::new();
    for name in names {
        let server = Server::start(name, options.workers)?;
        let is_right = |answer: &[u8]| servers::is_right(name, workload, answer);
        let load = runtime
            .block_on(Load::open(server.address, connections, headers, &body, is_right))
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        subjects.push(((*name).to_owned(), (server, load)));
    }
    interleave(&mut subjects, options.rounds(), |(server, load)| {
        runtime.block_on(round(server, load, options.network_round()))
    })
}

pub(super) async fn round(server: &Server, load: &mut Load, duration: Duration) -> io::Result<Vec<f64>> {
    load.run(WARM_UP).await?;
    tokio::time::sleep(SETTLE).await;
    let before = (server.process.cpu_time()?, own_cpu_time()?);
    let run = load.run(duration).await?;
    let load_used = own_cpu_time()?.saturating_sub(before.1);
    tokio::time::sleep(SETTLE).await;
    let used = server.process.cpu_time()?.saturating_sub(before.0);

    let requests = run.requests as f64;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / requests;
    Ok(vec![requests / run.elapsed.as_secs_f64(), each(used), each(load_used)])
}
