//! Calls over streams of bytes: TCP, and standard input and output of a child process.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::pipelined::{self, CPU, LOAD, RATE, Subject};
use crate::child::{Process, Server};
use crate::findings::Findings;
use crate::goal::{FLOOR, Goal, Limit, OURS};
use crate::options::Options;
use crate::pipeline::{Lane, Pipeline, Stream};
use crate::report::{Ratio, Row, Section};
use crate::servers::{BY_HAND_TCP, LINE_ECHO, SHIPPED, SWITCHBOARD_TCP};
use crate::workload::Workload;

/// How many calls are under way on the only connection.
const DEPTH: usize = 64;

const RATE_ECHO: Ratio = Ratio { column: RATE, base: LINE_ECHO };
const CPU_ECHO: Ratio = Ratio { column: CPU, base: LINE_ECHO };
const RATE_BY_HAND: Ratio = Ratio { column: RATE, base: FLOOR };

/// Compares with an echo of lines over TCP and over pipes, one connection each.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let tcp = pipelined::measure(options, |runtime| {
        let servers = [(OURS, SWITCHBOARD_TCP), (FLOOR, BY_HAND_TCP), (LINE_ECHO, LINE_ECHO)];
        let start = |(name, server)| runtime.block_on(over_tcp(name, server, options.workers));
        servers.into_iter().map(start).collect()
    })?;
    let stdio = pipelined::measure(options, |runtime| {
        let start = |name| runtime.block_on(over_pipes(name, options.workers));
        [OURS, SHIPPED, FLOOR, LINE_ECHO].into_iter().map(start).collect()
    })?;
    let (tcp, stdio) = (section("TCP", tcp), section("stdio", stdio));
    let at_least_half = |section| Goal::on_ratio(section, RATE_ECHO, Limit::AtLeast(0.5));
    let of_by_hand = Goal::on_ratio_of(SHIPPED, &stdio, RATE_BY_HAND, Limit::AtLeast(0.8));
    let goals = [at_least_half(&tcp), at_least_half(&stdio), of_by_hand];
    findings.add(tcp, []);
    findings.add(stdio, goals);
    Ok(findings)
}

fn section(carrier: &str, rows: Vec<Row>) -> Section {
    Section {
        title: format!("{carrier}, depth {DEPTH}"),
        columns: vec![RATE, CPU, LOAD],
        ratios: vec![RATE_ECHO, CPU_ECHO, RATE_BY_HAND],
        rows,
    }
}

async fn over_tcp(name: &str, server: &str, workers: usize) -> io::Result<(String, Subject<TcpStream>)> {
    let server = Server::start(server, workers)?;
    let stream = TcpStream::connect(server.address).await?;
    stream.set_nodelay(true)?;
    let load = Pipeline::new(vec![lane(name, stream).await?]);
    Ok((name.to_owned(), Subject { process: server.process, load }))
}

async fn over_pipes(name: &str, workers: usize) -> io::Result<(String, Subject<impl Stream + use<>>)> {
    let mut process = Process::start_stdio(name, workers)?;
    let load = Pipeline::new(vec![lane(name, process.pipes()?).await?]);
    Ok((name.to_owned(), Subject { process, load }))
}

/// Makes one call, whose answer has to be right and is what later ones have to be.
async fn lane<S: Stream>(name: &str, mut stream: S) -> io::Result<Lane<S>> {
    let body = Workload::Add.body();
    let request = [&body[..], b"\n"].concat();
    stream.write_all(&request).await?;
    let mut answer = Vec::new();
    let mut reader = BufReader::new(&mut stream);
    reader.read_until(b'\n', &mut answer).await?;
    let is_right = match name {
        LINE_ECHO => answer == request,
        _ => Workload::Add.is_answered_by(&answer),
    };
    if !is_right {
        let shown = String::from_utf8_lossy(&answer);
        return Err(io::Error::other(format!("{name}: wrong answer: {shown}")));
    }
    Ok(Lane::new(stream, &request, &answer, DEPTH))
}
