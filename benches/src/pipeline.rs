//! The load generator for duplex carriers: the same request again and again, a fixed number of them under way.
//!
//! It must cost less than any server it drives. So requests are built once, as many are written at once as answers came,
//! and answers are recognised by being the same bytes as the first: a comparison of memory, whatever they are cut in.

use std::io::{self, Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::load::Run;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// How much longer than asked a run may take before it counts as stuck.
const GRACE: Duration = Duration::from_secs(10);

/// What a connection is made of.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// Open connections to one server.
#[derive(Debug)]
pub struct Pipeline<S> {
    lanes: Vec<Lane<S>>,
}

/// One connection.
#[derive(Debug)]
pub struct Lane<S> {
    stream: S,
    /// As many requests as may be under way.
    requests: Arc<[u8]>,
    depth: usize,
    /// Answers, one after the other, for longer than what is read at once.
    answers: Answers,
}

/// The same bytes over and over.
#[derive(Debug)]
pub struct Answers {
    pattern: Vec<u8>,
    length: usize,
    /// How much of an answer has come.
    at: usize,
    chunk: Vec<u8>,
}

impl<S: Stream> Pipeline<S> {
    /// Connections that are ready to run.
    pub fn new(lanes: Vec<Lane<S>>) -> Self {
        Self { lanes }
    }

    /// Keeps every connection busy for `duration`.
    ///
    /// # Errors
    /// When a connection fails, an answer differs from the first one, or the server hangs.
    pub async fn run(&mut self, duration: Duration) -> io::Result<Run> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = Instant::now();
        let mut tasks: JoinSet<_> = self.lanes.drain(..).map(|lane| lane.run(Arc::clone(&stop))).collect();
        tokio::time::sleep(duration).await;
        stop.store(true, Ordering::Relaxed);

        let mut requests = 0;
        while let Some(done) = timeout(GRACE, tasks.join_next()).await? {
            let (lane, count) = done??;
            self.lanes.push(lane);
            requests += count;
        }
        Ok(Run { requests, elapsed: start.elapsed() })
    }
}

impl<S: Stream> Lane<S> {
    /// A connection on which this request gets this answer, `depth` times at once.
    pub fn new(stream: S, request: &[u8], answer: &[u8], depth: usize) -> Self {
        Self { stream, requests: request.repeat(depth).into(), depth, answers: Answers::new(answer) }
    }

    async fn run(mut self, stop: Arc<AtomicBool>) -> io::Result<(Self, u64)> {
        let each = self.requests.len() / self.depth;
        self.stream.write_all(&self.requests).await?;
        let (mut under_way, mut count) = (self.depth, 0);
        while under_way > 0 {
            let came = self.answers.read(&mut self.stream).await?;
            count += came as u64;
            let Some(left) = under_way.checked_sub(came) else {
                return Err(Error::new(ErrorKind::InvalidData, "more answers came than were asked for"));
            };
            if stop.load(Ordering::Relaxed) {
                under_way = left;
            } else if came > 0 {
                self.stream.write_all(&self.requests[..came * each]).await?;
            }
        }
        Ok((self, count))
    }
}

impl Answers {
    /// Expects this answer.
    pub fn new(answer: &[u8]) -> Self {
        let pattern = answer.repeat(CHUNK / answer.len() + 2);
        Self { pattern, length: answer.len(), at: 0, chunk: vec![0; CHUNK] }
    }

    /// Reads what is there; how many answers that completes.
    ///
    /// # Errors
    /// When the connection ends, or brings something else.
    pub async fn read(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        let count = stream.read(&mut self.chunk).await?;
        let came = &self.chunk[..count];
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if *came != self.pattern[self.at..self.at + count] {
            let shown = String::from_utf8_lossy(&came[..count.min(300)]);
            return Err(Error::new(ErrorKind::InvalidData, format!("wrong answer: {shown}")));
        }
        let total = self.at + count;
        self.at = total % self.length;
        Ok(total / self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_are_counted_however_they_are_cut() {
        let mut answers = Answers::new(b"abc");
        let mut counts = Vec::new();
        for mut part in [&b"a"[..], b"bca", b"b", b"cabcabc"] {
            counts.push(answers.read(&mut part).await.expect("they are right"));
        }
        assert_eq!(counts, [0, 1, 0, 3]);
        assert!(answers.read(&mut &b"x"[..]).await.is_err());
        assert!(answers.read(&mut &b""[..]).await.is_err());
    }
}
