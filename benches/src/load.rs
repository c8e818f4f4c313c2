//! The load generator: keep-alive connections over loopback, one request in flight on each.
//!
//! It must cost less than any server it drives, so the request is built once, and an answer is recognised by its shape:
//! once the head of a first answer is understood, later ones only have to end where that one did and to have its body.

use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest answer it reads.
const MAX_ANSWER: usize = 16 << 20;

/// How much longer than asked a run may take before it counts as stuck.
const GRACE: Duration = Duration::from_secs(10);

/// Open connections to one server, ready to send the same request again and again.
#[derive(Debug)]
pub struct Load {
    connections: Vec<Connection>,
}

/// What one run did.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Answers that came, all of them right.
    pub requests: u64,
    /// From the first request to the last answer.
    pub elapsed: Duration,
}

impl Load {
    /// Opens `count` connections, sends `body` once on each behind a head with these `headers` beside the necessary ones, and
    /// keeps the answers for comparison.
    ///
    /// # Errors
    /// When a connection fails or `is_right` refuses an answer.
    pub async fn open(
        address: SocketAddr,
        count: usize,
        headers: &str,
        body: &[u8],
        is_right: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Self> {
        let request = Bytes::from(http_request(headers, body));
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let mut connection = Connection {
                stream,
                request: request.clone(),
                buffer: vec![0; 4096],
                shape: None,
                answer: Bytes::new(),
            };
            let first = timeout(GRACE, connection.exchange()).await??.to_vec();
            if !is_right(&first) {
                return Err(wrong(&first));
            }
            connection.answer = first.into();
            connections.push(connection);
        }
        Ok(Self { connections })
    }

    /// Sends `count` requests on each connection, one connection after the other.
    ///
    /// # Errors
    /// When a connection fails, an answer differs from the first one, or the server hangs.
    pub async fn repeat(&mut self, count: u32) -> io::Result<()> {
        for connection in &mut self.connections {
            for _ in 0..count {
                timeout(GRACE, connection.exchange_again()).await??;
            }
        }
        Ok(())
    }

    /// Keeps every connection busy for `duration`.
    ///
    /// # Errors
    /// When a connection fails, an answer differs from the first one, or the server hangs.
    pub async fn run(&mut self, duration: Duration) -> io::Result<Run> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = Instant::now();
        let mut tasks: JoinSet<_> =
            self.connections.drain(..).map(|connection| connection.run(Arc::clone(&stop))).collect();
        tokio::time::sleep(duration).await;
        stop.store(true, Ordering::Relaxed);

        let mut requests = 0;
        while let Some(done) = timeout(GRACE, tasks.join_next()).await? {
            let (connection, count) = done??;
            self.connections.push(connection);
            requests += count;
        }
        Ok(Run { requests, elapsed: start.elapsed() })
    }

    /// Sends requests on the first connection at a fixed rate for `duration`, and returns how long each answer took, the fastest first.
    ///
    /// A request that is late because of the answer before it counts from when it was due. The thread sleeps between requests: timers of the
    /// runtime are too coarse, and nothing else runs in it.
    ///
    /// # Errors
    /// When there is no connection, it fails, an answer differs from the first one, or the server hangs.
    pub async fn paced(&mut self, rate: u32, duration: Duration) -> io::Result<Vec<Duration>> {
        let connection = self.connections.first_mut().ok_or(ErrorKind::NotConnected)?;
        let each = Duration::from_secs(1) / rate;
        let start = Instant::now();
        let mut took = Vec::new();
        let mut due = Duration::ZERO;
        while due < duration {
            let wait = due.saturating_sub(start.elapsed());
            std::thread::sleep(wait);
            let from = if wait.is_zero() { start + due } else { Instant::now() };
            timeout(GRACE, connection.exchange_again()).await??;
            took.push(from.elapsed());
            due += each;
        }
        took.sort();
        Ok(took)
    }
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    request: Bytes,
    buffer: Vec<u8>,
    shape: Option<Shape>,
    answer: Bytes,
}

/// Where the head of an answer ends and where its body does.
#[derive(Clone, Copy, Debug)]
struct Shape {
    head: usize,
    total: usize,
}

impl Connection {
    async fn run(mut self, stop: Arc<AtomicBool>) -> io::Result<(Self, u64)> {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            self.exchange_again().await?;
            count += 1;
        }
        Ok((self, count))
    }

    /// Sends the request; its answer has to be the one that came first.
    async fn exchange_again(&mut self) -> io::Result<()> {
        let expected = self.answer.clone();
        let body = self.exchange().await?;
        if *body == *expected { Ok(()) } else { Err(wrong(body)) }
    }

    /// Sends the request and returns the body of the answer.
    async fn exchange(&mut self) -> io::Result<&[u8]> {
        self.stream.write_all(&self.request).await?;
        let mut filled = 0;
        let shape = loop {
            filled += self.fill(filled).await?;
            match self.shape(filled)? {
                Some(shape) if shape.total == filled => break shape,
                Some(shape) if shape.total < filled => return Err(wrong(&self.buffer[shape.total..filled])),
                _ => {}
            }
        };
        self.shape = Some(shape);
        Ok(&self.buffer[shape.head..shape.total])
    }

    async fn fill(&mut self, filled: usize) -> io::Result<usize> {
        if filled == self.buffer.len() {
            if filled >= MAX_ANSWER {
                return Err(Error::new(ErrorKind::InvalidData, "the answer does not end"));
            }
            self.buffer.resize(filled * 2, 0);
        }
        match self.stream.read(&mut self.buffer[filled..]).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }

    fn shape(&self, filled: usize) -> io::Result<Option<Shape>> {
        let text = &self.buffer[..filled];
        match self.shape {
            Some(shape) if shape.total == filled && text[..shape.head].ends_with(b"\r\n\r\n") => {
                Ok(Some(shape))
            }
            _ => Shape::read(text),
        }
    }
}

impl Shape {
    fn read(text: &[u8]) -> io::Result<Option<Self>> {
        let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&text[..end]);
        if !head.starts_with("HTTP/1.1 200") {
            return Err(wrong(text));
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let length = length.ok_or_else(|| wrong(text))?;
        Ok(Some(Self { head: end + 4, total: end + 4 + length }))
    }
}

fn http_request(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn wrong(answer: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(300)]);
    Error::new(ErrorKind::InvalidData, format!("wrong answer: {shown}"))
}
