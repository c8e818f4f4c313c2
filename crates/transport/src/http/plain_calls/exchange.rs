//! One call over one connection: writes it, and reads its response.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use switchboard_core::AllowedNames;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::response::{self, Chunks, Framing, Head, Seen, chunks};
use crate::http::connector::Wire;
use crate::http::interim;

/// How many bytes are read at once, which most responses fit into.
const SIZE: usize = 8 << 10;

/// A head, or a body in chunks, that is longer is not plain.
const MOST: usize = 32 << 10;

/// A call that is written, and whose response is read.
pub(super) struct Exchange<'a> {
    wire: Wire,
    /// What remains of the request.
    unsent: &'a [u8],
    has_sent: bool,
    is_unflushed: bool,
    /// Why the request could not be sent. A server may have answered before it closed the connection.
    broken: Option<io::Error>,
    /// What was received, if it was not a whole response at once.
    received: Vec<u8>,
    interim: u32,
    /// The longest body to read.
    limit: usize,
    /// The headers of the response that are metadata.
    names: &'a AllowedNames,
}

/// How an exchange ended.
pub(super) enum Ended {
    /// With a whole response. The connection is there if it can be used again.
    Answered { head: Head, body: Bytes, wire: Option<Wire> },
    /// With a response that is not plain and that began with these bytes.
    Other(Wire, Vec<u8>),
    /// The connection was closed before anything was sent.
    Unsent(io::Error),
    /// The connection was closed before a response came.
    Closed,
    /// The connection broke before a response came.
    Broken(io::Error),
    /// The connection was closed in the middle of the response.
    Incomplete,
    /// The response is longer than allowed.
    TooLarge,
    /// Too many interim responses came.
    TooManyInterim,
}

/// What the bytes that were received so far come to.
enum Step {
    /// More are needed.
    More,
    /// A whole response, and whether nothing follows it.
    Whole(Head, Bytes, bool),
    /// The rest of this body is needed, of which so much is there.
    Body(Head, usize, Vec<u8>),
    Other,
    TooLarge,
    TooManyInterim,
    /// The server closed the connection.
    End,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(wire: Wire, request: &'a [u8], limit: usize, names: &'a AllowedNames) -> Exchange<'a> {
        Exchange {
            wire,
            unsent: request,
            has_sent: false,
            is_unflushed: false,
            broken: None,
            received: Vec::new(),
            interim: 0,
            limit,
            names,
        }
    }

    /// Does it.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the connection.
    pub(super) async fn run(mut self) -> Ended {
        loop {
            let step = match poll_fn(|task| self.poll_step(task)).await {
                Ok(step) => step,
                Err(error) => return self.failed(error),
            };
            match step {
                Step::More => {}
                Step::Whole(head, body, is_last) => return self.answered(head, body, is_last),
                Step::Body(head, length, begun) => return self.read_rest(head, length, begun).await,
                Step::Other => return Ended::Other(self.wire, self.received),
                Step::TooLarge => return Ended::TooLarge,
                Step::TooManyInterim => return Ended::TooManyInterim,
                Step::End if self.received.is_empty() => {
                    return self.broken.map_or(Ended::Closed, Ended::Broken);
                }
                // It knows what it was in the middle of.
                Step::End => return Ended::Other(self.wire, self.received),
            }
        }
    }

    fn failed(self, error: io::Error) -> Ended {
        let error = self.broken.unwrap_or(error);
        if self.has_sent { Ended::Broken(error) } else { Ended::Unsent(error) }
    }

    fn answered(self, head: Head, body: Bytes, is_last: bool) -> Ended {
        let is_sent = self.unsent.is_empty() && !self.is_unflushed && self.broken.is_none();
        let wire = (head.stays_open && is_last && is_sent).then_some(self.wire);
        Ended::Answered { head, body, wire }
    }

    /// Writes what remains of the request, and looks at what the server has sent.
    fn poll_step(&mut self, task: &mut Context<'_>) -> Poll<io::Result<Step>> {
        self.poll_send(task)?;
        let mut space = [const { MaybeUninit::uninit() }; SIZE];
        let mut space = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut self.wire).poll_read(task, &mut space))?;
        Poll::Ready(Ok(self.look_at(space.filled())))
    }

    /// Fails if nothing could be sent. What happens later may be explained by a response.
    fn poll_send(&mut self, task: &mut Context<'_>) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match Pin::new(&mut self.wire).poll_write(task, self.unsent) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(count @ 1..)) => {
                    self.unsent = &self.unsent[count..];
                    (self.has_sent, self.is_unflushed) = (true, true);
                }
                Poll::Ready(written) => {
                    let error = written.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into());
                    if !self.has_sent {
                        return Err(error);
                    }
                    (self.unsent, self.is_unflushed, self.broken) = (&[], false, Some(error));
                }
            }
        }
        if self.is_unflushed
            && let Poll::Ready(flushed) = Pin::new(&mut self.wire).poll_flush(task)
        {
            self.is_unflushed = false;
            self.broken = flushed.err();
        }
        Ok(())
    }

    fn look_at(&mut self, fresh: &[u8]) -> Step {
        if fresh.is_empty() {
            return Step::End;
        }
        if self.received.is_empty() {
            // Nearly always this is all of it, which needs no buffer.
            let (step, used) = self.judge(fresh);
            self.received.extend_from_slice(match step {
                Step::More | Step::Other => &fresh[used..],
                _ => &[],
            });
            return step;
        }
        let mut received = std::mem::take(&mut self.received);
        received.extend_from_slice(fresh);
        let (step, used) = self.judge(&received);
        received.drain(..used);
        self.received = received;
        step
    }

    /// What these bytes come to, and how many of them interim responses took.
    fn judge(&mut self, bytes: &[u8]) -> (Step, usize) {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            match response::read(rest, self.names) {
                Seen::Interim(size) => {
                    used += size;
                    self.interim += 1;
                    if self.interim > interim::MOST {
                        return (Step::TooManyInterim, used);
                    }
                }
                Seen::Part if rest.len() < MOST => return (Step::More, used),
                Seen::Plain(head) => return (self.judge_body(head, rest), used),
                Seen::Part | Seen::Other => return (Step::Other, used),
            }
        }
    }

    fn judge_body(&self, head: Head, bytes: &[u8]) -> Step {
        let body = &bytes[head.size..];
        match head.framing {
            Framing::Length(length) if length > self.limit => Step::TooLarge,
            Framing::Length(length) if length > body.len() => Step::Body(head, length, body.to_vec()),
            Framing::Length(length) => {
                Step::Whole(head, Bytes::copy_from_slice(&body[..length]), body.len() == length)
            }
            Framing::Chunked => match chunks(body) {
                Chunks::Whole { body: whole, size } => Step::Whole(head, whole.into(), body.len() == size),
                Chunks::Part if bytes.len() < MOST => Step::More,
                Chunks::Part | Chunks::Other => Step::Other,
            },
        }
    }

    /// Reads the rest of a body of this length.
    async fn read_rest(mut self, head: Head, length: usize, mut body: Vec<u8>) -> Ended {
        // A server that announces much has not sent it yet.
        body.reserve_exact((length - body.len()).min(MOST));
        while body.len() < length {
            // What remains of the request is not sent: the server has answered without it.
            let rest = (length - body.len()) as u64;
            match (&mut self.wire).take(rest).read_buf(&mut body).await {
                Ok(1..) => {}
                _ => return Ended::Incomplete,
            }
        }
        self.answered(head, body.into(), true)
    }
}
