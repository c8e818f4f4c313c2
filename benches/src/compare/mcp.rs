//! Calls of a tool over the Model Context Protocol, beside rmcp's server.

use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, Join};
use tokio::net::TcpStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinSet;

use super::interleave;
use super::pipelined::{CPU, RATE};
use crate::child::{Process, Server, Shipped};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::servers::{MCP, RMCP};

/// How many calls are under way on the only connection.
const DEPTH: usize = 64;

/// How many connections call over HTTP.
const CONNECTIONS: usize = 16;

const OF_RMCP: Ratio = Ratio { column: RATE, base: RMCP };
const CPU_OF_RMCP: Ratio = Ratio { column: CPU, base: RMCP };

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":100,"b":7}}}"#;
const ALONE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}},"name":"add","arguments":{"a":100,"b":7}}}"#;
const PLAIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":100,"b":7}}"#;
const ALONE_HEADERS: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n";

/// What a caller over HTTP says.
#[derive(Clone, Copy, PartialEq)]
enum Wire {
    /// MCP in a session.
    Session,
    /// MCP without sessions.
    Stateless,
    /// JSON-RPC without MCP.
    Plain,
}

/// A proxy that forwards plain calls, and ours that makes tools of methods, by what its callers say.
const HOP: &str = "plain hop";
const HOPS: [(&str, &str, Wire); 3] = [
    (HOP, "gateway", Wire::Plain),
    ("switchboard mcp, with sessions", "mcp", Wire::Session),
    ("switchboard mcp, stateless", "mcp", Wire::Stateless),
];
const CPU_OF_HOP: Ratio = Ratio { column: CPU, base: HOP };

/// How many sessions begin before the others, so that what a server needs once is there.
const EARLY: usize = 100;

/// How long a server may take to give back what its last calls needed.
const SETTLE: Duration = Duration::from_millis(300);

const EACH: &str = "bytes each";

/// Compares over pipes, over HTTP with sessions and without, by the memory of idle sessions, and as a proxy in front of a plain server.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let section = section(format!("MCP over stdio, depth {DEPTH}"), vec![RATE, CPU], over_pipes(options)?);
    let goal = Goal::on_ratio_of(MCP, &section, OF_RMCP, Limit::AtLeast(10.0));
    findings.add(section, [goal]);
    for (title, wire) in [("with sessions", Wire::Session), ("stateless", Wire::Stateless)] {
        let rows = over_http(options, wire)?;
        let section = self::section(
            format!("MCP over HTTP, {title}, {CONNECTIONS} connections"),
            vec![RATE, CPU],
            rows,
        );
        let goal = Goal::on_ratio_of(MCP, &section, CPU_OF_RMCP, Limit::AtMost(0.5));
        findings.add(section, [goal]);
    }
    let section = idle_sessions(options)?;
    let goal = Goal::on_figure_of(MCP, &section, EACH, Limit::AtMost(10_000.0));
    findings.add(section, [goal]);
    let section = Section {
        title: format!("in front of a plain server over HTTP, {CONNECTIONS} connections"),
        columns: vec![RATE, CPU],
        ratios: vec![CPU_OF_HOP],
        rows: as_proxy(options)?,
    };
    let goals =
        HOPS[1..].iter().map(|(name, ..)| Goal::on_ratio_of(name, &section, CPU_OF_HOP, Limit::AtMost(1.3)));
    let goals: Vec<_> = goals.collect();
    findings.add(section, goals);
    Ok(findings)
}

fn section(title: String, columns: Vec<&'static str>, rows: Vec<Row>) -> Section {
    Section { title, columns, ratios: vec![OF_RMCP, CPU_OF_RMCP], rows }
}

/// The rate and the CPU time of servers over pipes.
fn over_pipes(options: &Options) -> io::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects = Vec::new();
    for name in [MCP, RMCP] {
        let process = Process::start_stdio(name, options.workers)?;
        let subject = runtime.block_on(Pipes::open(name, process))?;
        subjects.push((name.to_owned(), subject));
    }
    interleave(&mut subjects, options.rounds(), |pipes| {
        runtime.block_on(pipes.round(options.network_round()))
    })
}

/// A server whose standard input and output are one connection, with calls of different identifiers under way: a client must not
/// use one twice at once.
struct Pipes {
    process: Process,
    stream: Join<Receiver, Sender>,
    requests: Vec<Vec<u8>>,
    /// What came of the line that is not whole yet.
    line: Vec<u8>,
}

/// The first identifier. All have two digits.
const FIRST: usize = 10;

impl Pipes {
    async fn open(name: &str, mut process: Process) -> io::Result<Pipes> {
        let mut stream = process.pipes()?;
        let call = |id: usize| CALL.replace("\"id\":1,", &format!("\"id\":{id},")) + "\n";
        let requests: Vec<Vec<u8>> = (FIRST..FIRST + DEPTH).map(|id| call(id).into_bytes()).collect();
        stream.write_all(format!("{INITIALIZE}\n").as_bytes()).await?;
        read_line(&mut stream).await?;
        stream.write_all(format!("{INITIALIZED}\n").as_bytes()).await?;
        stream.write_all(&requests[0]).await?;
        let line = read_line(&mut stream).await?;
        if !is_right(&line) {
            return Err(wrong(name, &line));
        }
        Ok(Pipes { process, stream, requests, line: Vec::new() })
    }

    async fn round(&mut self, duration: Duration) -> io::Result<Vec<f64>> {
        let before = self.process.cpu_time()?;
        let start = Instant::now();
        let (mut under_way, mut calls, mut chunk) = (DEPTH, 0_u64, vec![0; 64 << 10]);
        self.stream.write_all(&self.requests.concat()).await?;
        while under_way > 0 {
            let count = self.stream.read(&mut chunk).await?;
            let mut next = Vec::new();
            for byte in &chunk[..count] {
                if *byte != b'\n' {
                    self.line.push(*byte);
                    continue;
                }
                let index = identifier(&self.line).filter(|_| is_right(&self.line));
                let index = index.ok_or_else(|| wrong("later", &self.line))?;
                self.line.clear();
                calls += 1;
                under_way -= 1;
                if start.elapsed() < duration {
                    next.extend_from_slice(&self.requests[index]);
                    under_way += 1;
                }
            }
            self.stream.write_all(&next).await?;
        }
        let elapsed = start.elapsed();
        tokio::time::sleep(Duration::from_millis(15)).await;
        let used = self.process.cpu_time()?.saturating_sub(before);
        let calls = calls as f64;
        Ok(vec![calls / elapsed.as_secs_f64(), used.as_secs_f64() * 1e6 / calls])
    }
}

/// Which request a line answers.
fn identifier(line: &[u8]) -> Option<usize> {
    let name = b"\"id\":";
    let at = line.windows(name.len()).position(|window| window == name)? + name.len();
    let digits = std::str::from_utf8(line.get(at..at + 2)?).ok()?;
    digits.parse::<usize>().ok()?.checked_sub(FIRST).filter(|index| *index < DEPTH)
}

async fn read_line(stream: &mut Join<Receiver, Sender>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        line.push(stream.read_u8().await?);
    }
    Ok(line)
}

/// Whether an answer has the sum.
fn is_right(answer: &[u8]) -> bool {
    let has = |part: &[u8]| answer.windows(part.len()).any(|window| window == part);
    has(b"107") && has(b"\"result\"") && !has(b"\"isError\":true")
}

fn wrong(name: &str, answer: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(400)]);
    Error::new(ErrorKind::InvalidData, format!("{name}: wrong answer: {shown}"))
}

/// The rate and the CPU time of servers over HTTP.
fn over_http(options: &Options, wire: Wire) -> io::Result<Vec<Row>> {
    let start = |name: &str| Ok((name.to_owned(), Server::start(name, options.workers)?, wire));
    measure(options, "/", [MCP, RMCP].into_iter().map(start).collect::<io::Result<_>>()?)
}

/// The rate and the CPU time of proxies in front of one server.
fn as_proxy(options: &Options) -> io::Result<Vec<Row>> {
    let backend = Shipped::start("serve", &["--listen", "http://127.0.0.1:0"], options.workers)?;
    let url = format!("http://{}", backend.address("http")?);
    let start = |(name, command, wire): (&str, &str, Wire)| {
        let proxy = Shipped::start(command, &[&url, "--listen", "http://127.0.0.1:0"], options.workers)?;
        Ok((name.to_owned(), proxy.into_server()?, wire))
    };
    measure(options, "/mcp", HOPS.into_iter().map(start).collect::<io::Result<_>>()?)
}

fn measure(options: &Options, path: &str, servers: Vec<(String, Server, Wire)>) -> io::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects = Vec::new();
    for (name, server, wire) in servers {
        let callers = runtime.block_on(callers(&name, server.address, path, wire))?;
        subjects.push((name, (server, Some(callers))));
    }
    interleave(&mut subjects, options.rounds(), |(server, callers)| {
        let ready = callers.take().unwrap_or_default();
        let (figures, back) = runtime.block_on(round(server, ready, options.network_round()))?;
        *callers = Some(back);
        Ok(figures)
    })
}

/// The resident memory of a session in which one call was answered, and that is then left alone. All begin over one connection.
fn idle_sessions(options: &Options) -> io::Result<Section> {
    let count = if options.is_quick { 1_000 } else { 5_000 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for name in [MCP, RMCP] {
        let server = Server::start(name, options.workers)?;
        let each = runtime.block_on(async {
            let mut caller = Caller::connect(server.address).await?;
            for _ in 0..EARLY {
                caller.one_session(name).await?;
            }
            tokio::time::sleep(SETTLE).await;
            let before = server.process.resident()?;
            for _ in 0..count {
                caller.one_session(name).await?;
            }
            tokio::time::sleep(SETTLE).await;
            let after = server.process.resident()?;
            io::Result::Ok(after.saturating_sub(before) as f64 / count as f64)
        })?;
        rows.push(Row { name: name.to_owned(), figures: vec![each.into()] });
    }
    let title = format!("idle sessions of MCP over HTTP, {count}");
    Ok(Section { title, columns: vec![EACH], ratios: Vec::new(), rows })
}

/// A connection that calls the tool.
struct Caller {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

async fn callers(name: &str, address: SocketAddr, path: &str, wire: Wire) -> io::Result<Vec<Caller>> {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut caller = Caller::connect(address).await?;
        let request = match wire {
            Wire::Session => caller.begin(name, path).await?,
            Wire::Stateless => post(path, ALONE_HEADERS, ALONE),
            Wire::Plain => post("/", "", PLAIN),
        };
        caller.request = request;
        let first = caller.exchange().await?;
        if !is_right(first) {
            return Err(wrong(name, first));
        }
        callers.push(caller);
    }
    Ok(callers)
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

impl Caller {
    async fn connect(address: SocketAddr) -> io::Result<Caller> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Caller { stream, request: Vec::new(), buffer: vec![0; 64 << 10] })
    }

    /// Begins a session, and gives the request that calls the tool in it.
    async fn begin(&mut self, name: &str, path: &str) -> io::Result<Vec<u8>> {
        self.request = post(path, "", INITIALIZE);
        let first = self.exchange().await?.to_vec();
        let text = String::from_utf8_lossy(&first).to_ascii_lowercase();
        let id = text.split("mcp-session-id: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let id = id.ok_or_else(|| wrong(name, &first))?.to_owned();
        let headers = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        self.request = post(path, &headers, INITIALIZED);
        self.exchange().await?;
        Ok(post(path, &headers, CALL))
    }

    /// Begins a session and calls the tool in it once.
    async fn one_session(&mut self, name: &str) -> io::Result<()> {
        self.request = self.begin(name, "/").await?;
        let answer = self.exchange().await?;
        if is_right(answer) { Ok(()) } else { Err(wrong(name, answer)) }
    }

    /// Sends the request and reads its answer, whichever way its end is marked.
    async fn exchange(&mut self) -> io::Result<&[u8]> {
        self.stream.write_all(&self.request).await?;
        let mut filled = 0;
        while !is_whole(&self.buffer[..filled]) {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            if count == 0 {
                return Err(wrong("closed", &self.buffer[..filled]));
            }
            filled += count;
        }
        Ok(&self.buffer[..filled])
    }

    async fn run(mut self, until: Instant) -> io::Result<(Caller, u64)> {
        let mut count = 0;
        while Instant::now() < until {
            let answer = self.exchange().await?;
            if !is_right(answer) {
                return Err(wrong("later", answer));
            }
            count += 1;
        }
        Ok((self, count))
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    if text.contains("transfer-encoding: chunked") {
        return answer.ends_with(b"\r\n0\r\n\r\n") || answer[head..] == *b"\r\n\r\n0\r\n\r\n";
    }
    let length =
        text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    answer.len() >= head + 4 + length.unwrap_or(0_usize)
}

async fn round(
    server: &Server,
    callers: Vec<Caller>,
    duration: Duration,
) -> io::Result<(Vec<f64>, Vec<Caller>)> {
    let before = server.process.cpu_time()?;
    let start = Instant::now();
    let mut tasks: JoinSet<_> = callers.into_iter().map(|caller| caller.run(start + duration)).collect();
    let (mut back, mut calls) = (Vec::new(), 0);
    while let Some(done) = tasks.join_next().await {
        let (caller, count) = done??;
        back.push(caller);
        calls += count;
    }
    let elapsed = start.elapsed();
    tokio::time::sleep(Duration::from_millis(15)).await;
    let used = server.process.cpu_time()?.saturating_sub(before);
    let calls = calls as f64;
    Ok((vec![calls / elapsed.as_secs_f64(), used.as_secs_f64() * 1e6 / calls], back))
}
