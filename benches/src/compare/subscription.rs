//! Items of subscriptions over WebSocket, sent as fast as they are read.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::interleave;
use super::pipelined::{CPU, LOAD};
use crate::child::{Server, own_cpu_time};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::pipeline::Answers;
use crate::report::{Ratio, Section};
use crate::servers::TUNGSTENITE;
use crate::websocket::{message, open, read_frame};
use crate::workload::SUBSCRIBE;

const SUBJECTS: [&str; 3] = ["switchboard", "jsonrpsee", TUNGSTENITE];

/// One subscription on each.
const CONNECTIONS: usize = 16;

/// How long items flow before they are counted.
const WARM_UP: Duration = Duration::from_millis(50);

/// How long a server may take to begin, and the last reads may take.
const GRACE: Duration = Duration::from_secs(10);

const RATE: Ratio = Ratio { column: "items/s", base: "jsonrpsee" };
const RATE_TUNGSTENITE: Ratio = Ratio { base: TUNGSTENITE, ..RATE };
const CPU_JSONRPSEE: Ratio = Ratio { column: CPU, base: "jsonrpsee" };

/// Compares one subscription on each of 16 connections.
///
/// # Errors
/// When a server does not start, or an item is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects = Vec::new();
    for name in SUBJECTS {
        subjects.push((name.to_owned(), Server::start(name, options.workers)?));
    }
    let section = Section {
        title: format!("subscriptions, {CONNECTIONS} connections"),
        columns: vec![RATE.column, CPU, LOAD],
        ratios: vec![RATE, RATE_TUNGSTENITE, CPU_JSONRPSEE],
        rows: interleave(&mut subjects, options.rounds(), |server| {
            runtime.block_on(round(server, options.network_round()))
        })?,
    };
    let goal = Goal::on_ratio(&section, RATE, Limit::AtLeast(5.0));
    let mut findings = Findings::default();
    findings.add(section, [goal]);
    Ok(findings)
}

/// Subscribes anew, for a subscription has no pause; the connections are dropped in the end.
async fn round(server: &Server, duration: Duration) -> io::Result<Vec<f64>> {
    let mut readers = Vec::new();
    for _ in 0..CONNECTIONS {
        readers.push(timeout(GRACE, subscribe(server)).await??);
    }
    let (readers, _) = read_all(readers, WARM_UP).await?;
    let before = (server.process.cpu_time()?, own_cpu_time()?);
    let start = Instant::now();
    let (readers, items) = read_all(readers, duration).await?;
    let elapsed = start.elapsed();
    let used = server.process.cpu_time()?.saturating_sub(before.0);
    let load_used = own_cpu_time()?.saturating_sub(before.1);
    drop(readers);

    let each = |time: Duration| time.as_secs_f64() * 1e6 / items as f64;
    Ok(vec![items as f64 / elapsed.as_secs_f64(), each(used), each(load_used)])
}

type Reader = (TcpStream, Answers);

/// The response has to come first; then every item has to be like the first, which holds the number.
async fn subscribe(server: &Server) -> io::Result<Reader> {
    let mut stream = open(server.address).await?;
    stream.write_all(&message(SUBSCRIBE.as_bytes())).await?;
    let (response, _) = read_frame(&mut stream).await?;
    let (item, payload) = read_frame(&mut stream).await?;
    let text = String::from_utf8_lossy(&item[payload..]);
    if !text.contains("\"result\":107") || !text.contains("\"subscription\":") {
        let response = String::from_utf8_lossy(&response);
        return Err(io::Error::other(format!("wrong item: {text} after {response}")));
    }
    Ok((stream, Answers::new(&item)))
}

/// Reads from all of them for `duration`; gives them back with the number of items.
async fn read_all(readers: Vec<Reader>, duration: Duration) -> io::Result<(Vec<Reader>, u64)> {
    let until = Instant::now() + duration;
    let mut tasks = JoinSet::new();
    for (mut stream, mut items) in readers {
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                count += items.read(&mut stream).await? as u64;
            }
            io::Result::Ok(((stream, items), count))
        });
    }
    let (mut readers, mut total) = (Vec::new(), 0);
    while let Some(done) = timeout(duration + GRACE, tasks.join_next()).await? {
        let (reader, count) = done??;
        readers.push(reader);
        total += count;
    }
    Ok((readers, total))
}
