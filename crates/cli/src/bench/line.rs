//! One connection, as a worker uses it: it sends messages and reports what arrives.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use switchboard::CallError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::carrier::{Carrier, Event};
use super::form::Form;
use super::http2::Http2;
use super::work::Text;

/// Makes connections to whatever is measured.
pub(crate) type Connect =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Line, CallError>> + Send>> + Send + Sync>;

/// Bytes that wait for a server that does not read, above which what it asks for is left unanswered.
const UNREAD: usize = 4 << 20;

/// What bytes go over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Io for T {}

/// A connection.
pub(crate) enum Line {
    /// Bytes one after the other.
    Plain(Box<Plain>),
    /// HTTP/2, where every message has its own stream.
    Http2(Box<Http2>),
}

/// A connection on which messages follow each other.
pub(crate) struct Plain {
    io: Pin<Box<dyn Io>>,
    carrier: Carrier,
    out: Vec<u8>,
    /// How much of it was written.
    written: usize,
    traffic: Traffic,
}

/// Bytes that went over a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// What a line tells.
pub(crate) enum Told {
    /// Something came; over HTTP/2 it belongs to the message with this first identifier.
    Event(Event, Option<u32>),
    /// The connection broke.
    Broken(String),
    /// The received bytes cannot be read.
    Spoiled(String),
}

impl Line {
    /// A connection that carries messages in this way.
    pub(crate) fn new(io: impl Io + 'static, carrier: Carrier) -> Line {
        let io = Box::pin(io);
        let traffic = Traffic::default();
        Line::Plain(Box::new(Plain { io, carrier, out: Vec::new(), written: 0, traffic }))
    }

    /// A text as it is sent here.
    pub(crate) fn form(&self, text: &Text) -> Form {
        match self {
            Line::Plain(plain) => plain.carrier.form(text),
            Line::Http2(_) => Form::new(text.bytes.clone(), &text.holes, 0),
        }
    }

    /// Queues a message; [`poll_flush`](Line::poll_flush) sends it.
    pub(crate) fn send(&mut self, form: &Form, first: u32) {
        match self {
            Line::Plain(plain) => form.write(first, &mut plain.out),
            Line::Http2(http2) => http2.send(form, first),
        }
    }

    /// Queues a short text of this side: what answers a call of the server.
    pub(crate) fn send_text(&mut self, text: Vec<u8>) {
        if let Line::Plain(plain) = self
            && plain.out.len() < UNREAD
        {
            plain.carrier.form(&Text { bytes: text, holes: Vec::new() }).write(0, &mut plain.out);
        }
    }

    /// Sends what is queued, as far as there is room. A broken connection shows when it is read next.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) {
        match self {
            Line::Plain(plain) => {
                // The next read sees the same fault.
                let _ = plain.poll_flush(cx);
            }
            Line::Http2(http2) => http2.poll_flush(cx),
        }
    }

    /// The next thing that this line tells.
    pub(crate) fn poll_told(&mut self, cx: &mut Context<'_>, chunk: &mut [u8]) -> Poll<Told> {
        match self {
            Line::Plain(plain) => plain.poll_told(cx, chunk),
            Line::Http2(http2) => http2.poll_told(cx),
        }
    }

    /// Stops waiting for the message with this first identifier. Tells whether the connection can be used on.
    pub(crate) fn forget(&mut self, first: u32) -> bool {
        match self {
            Line::Plain(plain) => plain.carrier.is_duplex(),
            // Its stream is closed, so nothing comes late.
            Line::Http2(http2) => {
                http2.forget(first);
                true
            }
        }
    }

    /// Whether messages may come that answer nothing.
    pub(crate) fn is_duplex(&self) -> bool {
        matches!(self, Line::Plain(plain) if plain.carrier.is_duplex())
    }

    /// What the transport said with the last message.
    pub(crate) fn said(&self) -> String {
        match self {
            Line::Plain(plain) => plain.carrier.said(),
            Line::Http2(_) => String::new(),
        }
    }

    /// The bytes that went over it since this was asked last.
    pub(crate) fn take_traffic(&mut self) -> Traffic {
        match self {
            Line::Plain(plain) => std::mem::take(&mut plain.traffic),
            Line::Http2(http2) => http2.take_traffic(),
        }
    }
}

impl Plain {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.written == self.out.len() {
            return Poll::Ready(Ok(()));
        }
        while self.written < self.out.len() {
            let count = ready!(self.io.as_mut().poll_write(cx, &self.out[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.traffic.sent += count as u64;
        }
        self.out.clear();
        self.written = 0;
        self.io.as_mut().poll_flush(cx)
    }

    fn poll_told(&mut self, cx: &mut Context<'_>, chunk: &mut [u8]) -> Poll<Told> {
        loop {
            match self.carrier.next() {
                Ok(Some(Event::Echo(bytes))) => {
                    if self.out.len() < UNREAD {
                        self.out.extend_from_slice(&bytes);
                    }
                    continue;
                }
                Ok(Some(event)) => return Poll::Ready(Told::Event(event, None)),
                Ok(None) => {}
                Err(why) => return Poll::Ready(Told::Spoiled(why)),
            }
            if let Poll::Ready(Err(error)) = self.poll_flush(cx) {
                return Poll::Ready(Told::Broken(error.to_string()));
            }
            let mut buffer = ReadBuf::new(chunk);
            match ready!(self.io.as_mut().poll_read(cx, &mut buffer)) {
                Err(error) => return Poll::Ready(Told::Broken(error.to_string())),
                Ok(()) if buffer.filled().is_empty() => {
                    return Poll::Ready(match self.carrier.finish() {
                        Some(event) => Told::Event(event, None),
                        None => Told::Broken("the server closed the connection".to_owned()),
                    });
                }
                Ok(()) => {
                    self.traffic.received += buffer.filled().len() as u64;
                    self.carrier.feed(buffer.filled());
                }
            }
        }
    }
}
