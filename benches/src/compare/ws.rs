//! Calls over WebSocket, one by one and pipelined.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::pipelined::{self, CPU, LOAD, RATE, Subject};
use crate::child::Server;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::pipeline::{Lane, Pipeline};
use crate::report::{Ratio, Section};
use crate::servers::{TUNGSTENITE, TUNGSTENITE_EACH, WEBSOCKET};
use crate::websocket::{message, open, read_frame};
use crate::workload::Workload;

/// Enough to keep the server busy; more would only measure queues.
const CONNECTIONS: usize = 16;

const RATE_JSONRPSEE: Ratio = Ratio { column: RATE, base: "jsonrpsee" };
const RATE_TUNGSTENITE: Ratio = Ratio { column: RATE, base: TUNGSTENITE };
const CPU_JSONRPSEE: Ratio = Ratio { column: CPU, base: "jsonrpsee" };

/// Compares depths of 1, 32 and 256 over 16 connections.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    for depth in [1, 32, 256] {
        let section = Section {
            title: format!("WebSocket, {CONNECTIONS} x depth {depth}"),
            columns: vec![RATE, CPU, LOAD],
            ratios: vec![RATE_JSONRPSEE, RATE_TUNGSTENITE, CPU_JSONRPSEE],
            rows: pipelined::measure(options, |runtime| {
                let start = |name: &&str| runtime.block_on(subject(name, depth, options.workers));
                WEBSOCKET.iter().map(start).collect()
            })?,
        };
        let goals = if depth == 1 {
            vec![
                Goal::on_ratio(&section, RATE_JSONRPSEE, Limit::AtLeast(1.4)),
                Goal::on_figure(&section, CPU, Limit::AtMost(5.0)),
            ]
        } else {
            vec![Goal::on_ratio(&section, RATE_JSONRPSEE, Limit::AtLeast(5.0))]
        };
        findings.add(section, goals);
    }
    Ok(findings)
}

async fn subject(name: &str, depth: usize, workers: usize) -> io::Result<(String, Subject<TcpStream>)> {
    let server = Server::start(name, workers)?;
    let mut lanes = Vec::new();
    for _ in 0..CONNECTIONS {
        let (stream, request, answer) = call(&server, name).await?;
        lanes.push(Lane::new(stream, &request, &answer, depth));
    }
    Ok((name.to_owned(), Subject { process: server.process, load: Pipeline::new(lanes) }))
}

/// Opens a connection and makes one call, whose answer has to be right. Gives the frames of both.
pub(super) async fn call(server: &Server, name: &str) -> io::Result<(TcpStream, Vec<u8>, Vec<u8>)> {
    let (workload, body) = (Workload::Add, Workload::Add.body());
    let request = message(&body);
    let mut stream = open(server.address).await?;
    stream.write_all(&request).await?;
    let (answer, payload) = read_frame(&mut stream).await?;
    let is_right = match name {
        TUNGSTENITE | TUNGSTENITE_EACH => answer[payload..] == body,
        _ => workload.is_answered_by(&answer[payload..]),
    };
    if !is_right {
        let shown = String::from_utf8_lossy(&answer[payload..]);
        return Err(io::Error::other(format!("{name}: wrong answer: {shown}")));
    }
    Ok((stream, request, answer))
}
