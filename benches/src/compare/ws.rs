//! Calls over WebSocket, one by one and pipelined.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::pipelined::{self, CPU, LOAD, RATE, Subject};
use crate::child::Server;
use crate::findings::Findings;
use crate::goal::{FLOOR, Goal, Limit};
use crate::options::Options;
use crate::pipeline::{Lane, Pipeline};
use crate::report::{Ratio, Section};
use crate::servers::{SHIPPED, TUNGSTENITE, TUNGSTENITE_EACH, WEBSOCKET};
use crate::websocket::{message, open, read_frame};
use crate::workload::Workload;

const RATE_JSONRPSEE: Ratio = Ratio { column: RATE, base: "jsonrpsee" };
const RATE_TUNGSTENITE: Ratio = Ratio { column: RATE, base: TUNGSTENITE };
const CPU_JSONRPSEE: Ratio = Ratio { column: CPU, base: "jsonrpsee" };
const CPU_BY_HAND: Ratio = Ratio { column: CPU, base: FLOOR };

/// Compares one call at a time, and many, over 16 and over 64 connections.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    // The last is how much CPU time the shipped program may take, compared with the floor.
    for (connections, depth, most) in [(16, 1, None), (16, 16, Some(1.8)), (64, 64, Some(3.0))] {
        let section = Section {
            title: format!("WebSocket, {connections} x depth {depth}"),
            columns: vec![RATE, CPU, LOAD],
            ratios: vec![RATE_JSONRPSEE, RATE_TUNGSTENITE, CPU_JSONRPSEE, CPU_BY_HAND],
            rows: pipelined::measure(options, |runtime| {
                let start = |(name, server): &(&str, &str)| {
                    let server = Server::start(server, options.workers)?;
                    runtime.block_on(subject(name, server, connections, depth))
                };
                WEBSOCKET.iter().map(start).collect()
            })?,
        };
        let goals = match most {
            None => [
                Goal::on_ratio(&section, RATE_JSONRPSEE, Limit::AtLeast(1.4)),
                Goal::on_figure(&section, CPU, Limit::AtMost(5.0)),
            ],
            Some(most) => [
                Goal::on_ratio(&section, RATE_JSONRPSEE, Limit::AtLeast(5.0)),
                Goal::on_ratio_of(SHIPPED, &section, CPU_BY_HAND, Limit::AtMost(most)),
            ],
        };
        findings.add(section, goals);
    }
    Ok(findings)
}

async fn subject(
    name: &str,
    server: Server,
    connections: usize,
    depth: usize,
) -> io::Result<(String, Subject<TcpStream>)> {
    let mut lanes = Vec::new();
    for _ in 0..connections {
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
