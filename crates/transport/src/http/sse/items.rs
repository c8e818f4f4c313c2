//! A stream of the far side, read from the events of one response.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_core::Stream;
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use switchboard_core::codec::{self, Incoming as Received, Message, Outcome, Response};
use switchboard_core::{
    Call, CallError, Code, Direction, ErrorObject, Gap, Items, Json, Reply, ReplyFuture, Service, Settings,
    Tap, Wire,
};
use tokio::time::{Instant, Sleep};

use super::super::timeouts::after;
use super::{DONE, Parser, Piece, STARTED};

/// How a stream is read.
pub(in super::super) struct Reading {
    /// The identifier of the call.
    pub(in super::super) id: u64,
    pub(in super::super) settings: Settings,
    /// Bytes that an event may have.
    pub(in super::super) limit: usize,
    /// How long there may be no word of the far side.
    pub(in super::super) silence: Duration,
    /// Takes the notifications that come in between.
    pub(in super::super) service: Option<Arc<dyn Service>>,
    /// Sees each event's data.
    pub(in super::super) tap: Option<Tap>,
}

/// Waits until it is known what the reply is: an error, a value that comes alone, or a stream of what follows.
pub(in super::super) async fn open(body: Incoming, reading: Reading) -> Reply {
    let mut items = EventItems {
        body,
        parser: Parser::new(reading.limit),
        chunk: Bytes::new(),
        timer: Box::pin(tokio::time::sleep_until(after(Instant::now(), reading.silence))),
        handling: None,
        is_first: true,
        is_done: false,
        reading,
    };
    let mut waiting = VecDeque::new();
    match poll_fn(|cx| items.poll_step(cx)).await {
        Step::Failed(error) => return Reply::Error(error),
        // Nothing announced a stream. A plain result is one event and the end, which come together.
        Step::Item(item) => match poll_fn(|cx| Poll::Ready(items.poll_step(cx))).await {
            Poll::Ready(Step::Ended) => return Reply::Value(item),
            Poll::Ready(second) => waiting.extend([Step::Item(item), second]),
            Poll::Pending => waiting.push_back(Step::Item(item)),
        },
        first => waiting.push_back(first),
    }
    Reply::Stream(Items::new(Begun { waiting, items }))
}

/// A stream whose first items may be here already.
struct Begun {
    waiting: VecDeque<Step>,
    items: EventItems,
}

impl Stream for Begun {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.items.is_done {
                return Poll::Ready(None);
            }
            let step = match self.waiting.pop_front() {
                Some(step) => step,
                None => ready!(self.items.poll_step(cx)),
            };
            let last = match step {
                Step::Started => continue,
                Step::Item(item) => return Poll::Ready(Some(Ok(item))),
                Step::Gap(gap) => return Poll::Ready(Some(Err(CallError::Gap(gap).into()))),
                Step::Failed(error) => Some(Err(error)),
                Step::Ended => None,
            };
            self.items.is_done = true;
            return Poll::Ready(last);
        }
    }
}

/// A timer that is looked at this much after it was due says nothing about the far side.
const LATE: Duration = Duration::from_secs(1);

/// What the next event comes to.
enum Step {
    /// The call has a stream for a reply.
    Started,
    Item(Json),
    /// Items are missing here; the stream goes on.
    Gap(Gap),
    Failed(ErrorObject),
    Ended,
}

/// The events of one response. Dropping it ends the request, which cancels the call where the far side notices.
struct EventItems {
    body: Incoming,
    parser: Parser,
    /// What has come and is not parsed.
    chunk: Bytes,
    /// How long the far side may be silent.
    timer: Pin<Box<Sleep>>,
    /// A notification that is being taken. What follows it waits.
    handling: Option<ReplyFuture>,
    is_first: bool,
    is_done: bool,
    reading: Reading,
}

impl EventItems {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            if let Some(handling) = &mut self.handling {
                if Pin::new(handling).poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.handling = None;
            }
            match self.next_piece() {
                Err(error) => return Poll::Ready(Step::Failed(error.into())),
                Ok(Some(Piece::Comment(comment))) if comment == STARTED => return Poll::Ready(Step::Started),
                Ok(Some(Piece::Comment(_))) => {}
                Ok(Some(Piece::Event(event))) if event.data == DONE => {
                    self.finish(cx);
                    return Poll::Ready(Step::Ended);
                }
                Ok(Some(Piece::Event(event))) => {
                    if let Some(step) = self.take(&Bytes::from(event.data)) {
                        return Poll::Ready(step);
                    }
                }
                Ok(None) => match self.poll_chunk(cx) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Step::Failed(error.into())),
                    Poll::Pending => return Poll::Pending,
                },
            }
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

    /// Ready when the far side was silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now.saturating_duration_since(self.timer.deadline()) < LATE {
                return Poll::Ready(());
            }
            // Nobody looked when it was due: the machine slept, or the reader was busy. What came meanwhile may not have
            // been seen yet, so the far side has its time once more.
            self.timer.as_mut().reset(after(now, self.reading.silence));
        }
        Poll::Pending
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.poll_silence(cx).map(|()| Err(CallError::TimedOut)),
            Poll::Ready(Some(Ok(frame))) => {
                self.chunk = frame.into_data().unwrap_or_default();
                let time = after(Instant::now(), self.reading.silence);
                self.timer.as_mut().reset(time);
                Poll::Ready(Ok(()))
            }
            // LLM-04
            Poll::Ready(None) => Poll::Ready(Err(CallError::Closed(
                "the event stream was cut off: it ended without [DONE]".into(),
            ))),
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Err(CallError::Closed(format!("the event stream broke off: {error}").into())))
            }
        }
    }

    /// Reads the end of the body if it is here, for the connection can be used again then.
    fn finish(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(_))) = Pin::new(&mut self.body).poll_frame(cx) {}
    }

    /// What a message comes to; nothing if it is not for whoever reads the stream.
    fn take(&mut self, data: &Bytes) -> Option<Step> {
        if data.is_empty() {
            return None;
        }
        let broken = |detail: &'static str| Some(Step::Failed(CallError::Protocol(detail.into()).into()));
        match codec::decode(data, &self.reading.settings) {
            Ok(Received::Single(Message::Response(response))) => self.respond(response, data),
            Ok(Received::Single(Message::Request(request))) => {
                match &self.reading.service {
                    Some(service) if request.id.is_none() => {
                        let call = Call::notification(request.method, request.params);
                        self.handling = Some(service.call(&call));
                    }
                    _ => {
                        tracing::debug!(method = ?request.method, "a message in an event stream was dropped");
                    }
                }
                None
            }
            Ok(_) => broken("an event is no response and no notification"),
            Err(_) => broken("an event is not JSON-RPC, or exceeds a limit of this side"),
        }
    }

    fn respond(&mut self, response: Response, data: &Bytes) -> Option<Step> {
        let is_fault = response.id.is_null() && matches!(response.outcome, Outcome::Error(_));
        if !is_fault && response.id.as_u64() != Some(self.reading.id) {
            tracing::debug!(id = ?response.id, "a response to another call was dropped");
            return None;
        }
        let is_first = std::mem::take(&mut self.is_first);
        Some(match response.outcome {
            Outcome::Value(_) if is_first && is_start(data) => Step::Started,
            Outcome::Value(json) => Step::Item(json),
            Outcome::Error(error) => match read_gap(&error) {
                Some(gap) => Step::Gap(gap),
                None => Step::Failed(error),
            },
            Outcome::Stream(..) => Step::Failed(
                CallError::Protocol("a stream of another connection cannot be read here".into()).into(),
            ),
            Outcome::Broken(detail) => Step::Failed(CallError::Protocol(detail.into()).into()),
        })
    }
}

/// The gap that an error tells of among the items of a stream.
fn read_gap(error: &ErrorObject) -> Option<Gap> {
    let data = error.data.as_ref().filter(|_| error.code == Code::ITEMS_LOST)?;
    data.decode().ok()
}

/// Whether a response only says that a stream begins.
fn is_start(data: &Bytes) -> bool {
    let members =
        Json::parse(data.clone()).ok().and_then(|json| json.decode::<BTreeMap<String, Json>>().ok());
    members.is_some_and(|members| members.get("event").is_some_and(|event| event.as_str() == "\"start\""))
}
