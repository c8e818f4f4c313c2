//! The messages of one response that is an event stream.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use switchboard_core::codec::{self, Incoming as Received, Message, ResponseOutcome};
use switchboard_core::{CallError, Direction, Json, ReplyFuture, Settings, Tap, Wire};
use tokio::time::{Instant, Sleep};

use super::super::timeouts::after;
use super::{DONE, Parser, Piece, STARTED};
use crate::parts::{Next, Notifications, Source};

/// How an event stream is read.
pub(in super::super) struct Reading {
    pub(in super::super) settings: Settings,
    /// The most bytes of an event.
    pub(in super::super) limit: usize,
    /// How long the server may send nothing.
    pub(in super::super) silence: Duration,
    /// Takes the notifications between the responses.
    pub(in super::super) notifications: Notifications,
    /// Sees the data of each event.
    pub(in super::super) tap: Option<Tap>,
}

/// Reads the events of one response, and hands notifications over in between.
///
/// Dropping it ends the request, which cancels the call where the server notices.
pub(in super::super) struct Messages {
    body: Incoming,
    parser: Parser,
    /// Bytes that were received and not parsed.
    chunk: Bytes,
    /// Fires when the server was silent for too long.
    timer: Pin<Box<Sleep>>,
    /// A notification that is being handled. Later events wait for it.
    handling: Option<ReplyFuture>,
    /// Whether the server said that a stream of items begins. Such a stream ends with `[DONE]`.
    is_announced: bool,
    has_answered: bool,
    reading: Reading,
}

/// A timer that is polled this long after it fired says nothing about the server.
const LATE: Duration = Duration::from_secs(1);

impl Source for Messages {
    fn poll_next(&mut self, cx: &mut Poller<'_>) -> Poll<Result<Next, CallError>> {
        loop {
            if let Some(handling) = &mut self.handling {
                ready!(Pin::new(handling).poll(cx));
                self.handling = None;
            }
            match self.next_piece()? {
                Some(Piece::Comment(comment)) if comment == STARTED => {
                    self.is_announced = true;
                    return Poll::Ready(Ok(Next::Started(None)));
                }
                Some(Piece::Comment(_)) => {}
                Some(Piece::Event(event)) if event.data == DONE => {
                    self.finish(cx);
                    return Poll::Ready(Ok(Next::Ended));
                }
                Some(Piece::Event(event)) => {
                    if let Some(next) = self.read(Bytes::from(event.data))? {
                        return Poll::Ready(Ok(next));
                    }
                }
                None => {
                    if !ready!(self.poll_chunk(cx))? {
                        return Poll::Ready(self.end());
                    }
                }
            }
        }
    }

    fn finish(&mut self, cx: &mut Poller<'_>) {
        while let Poll::Ready(Some(Ok(_))) = Pin::new(&mut self.body).poll_frame(cx) {}
    }
}

impl Messages {
    pub(in super::super) fn new(body: Incoming, reading: Reading) -> Messages {
        Messages {
            body,
            parser: Parser::new(reading.limit),
            chunk: Bytes::new(),
            timer: Box::pin(tokio::time::sleep_until(after(Instant::now(), reading.silence))),
            handling: None,
            is_announced: false,
            has_answered: false,
            reading,
        }
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, CallError> {
        let mut rest = &self.chunk[..];
        let piece = self
            .parser
            .next(&mut rest)
            .map_err(|error| CallError::Transport(format!("{error} (limits.reply)").into()));
        let read = self.chunk.len() - rest.len();
        self.chunk.advance(read);
        if let (Some(tap), Ok(Some(Piece::Event(event)))) = (&self.reading.tap, &piece) {
            tap.show(Direction::Received, Wire::Message(event.data.as_bytes()));
        }
        piece
    }

    /// The response in an event's data; none if it is something else.
    fn read(&mut self, data: Bytes) -> Result<Option<Next>, CallError> {
        if data.is_empty() {
            return Ok(None);
        }
        match codec::decode(&data, &self.reading.settings) {
            Ok(Received::Single(Message::Response(response))) => {
                let is_first = !std::mem::replace(&mut self.has_answered, true);
                if is_first && matches!(response.outcome, ResponseOutcome::Value(_)) && is_start(&data) {
                    self.is_announced = true;
                    return Ok(Some(Next::Started(None)));
                }
                Ok(Some(Next::Response(response, data)))
            }
            Ok(Received::Single(Message::Request(request))) => {
                self.handling = self.reading.notifications.handle(request);
                Ok(None)
            }
            Ok(Received::Batch(_)) => {
                self.has_answered = true;
                Ok(Some(Next::Batch(data)))
            }
            Ok(_) => Err(CallError::Protocol("an event is neither a response nor a notification".into())),
            Err(_) => {
                Err(CallError::Protocol("an event is not JSON-RPC, or exceeds a limit of this client".into()))
            }
        }
    }

    /// Waits for more bytes; false at the end of the body.
    fn poll_chunk(&mut self, cx: &mut Poller<'_>) -> Poll<Result<bool, CallError>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.poll_silence(cx).map(|()| Err(CallError::TimedOut)),
            Poll::Ready(Some(Ok(frame))) => {
                self.chunk = frame.into_data().unwrap_or_default();
                self.timer.as_mut().reset(after(Instant::now(), self.reading.silence));
                Poll::Ready(Ok(true))
            }
            Poll::Ready(None) => Poll::Ready(Ok(false)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Err(CallError::Closed(
                format!("the event stream was interrupted: {error}").into(),
            ))),
        }
    }

    /// Ready when the server was silent for too long.
    fn poll_silence(&mut self, cx: &mut Poller<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now.saturating_duration_since(self.timer.deadline()) < LATE {
                return Poll::Ready(());
            }
            // It was not polled when it fired: the machine slept, or the reader was busy. What came meanwhile may not have
            // been seen yet, so the server has its time once more.
            self.timer.as_mut().reset(after(now, self.reading.silence));
        }
        Poll::Pending
    }

    /// What the end of the body without `[DONE]` means (LLM-04). Other servers end a stream like that when they have
    /// answered; ours never do.
    fn end(&self) -> Result<Next, CallError> {
        let why = if self.is_announced {
            "the event stream is incomplete: it ended without [DONE]"
        } else if self.parser.is_inside_event() {
            "the event stream ended in the middle of an event"
        } else if !self.has_answered {
            "the event stream ended without a response"
        } else {
            return Ok(Next::Ended);
        };
        Err(CallError::Closed(why.into()))
    }
}

/// Whether a response only says that a stream begins.
fn is_start(data: &Bytes) -> bool {
    let members =
        Json::parse(data.clone()).ok().and_then(|json| json.decode::<BTreeMap<String, Json>>().ok());
    members.is_some_and(|members| members.get("event").is_some_and(|event| event.as_str() == "\"start\""))
}
