//! Messages as they are, for tools that measure servers: each goes to the subject of messages of any kind, and answers come back in
//! the order in which they arrive.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_nats::message::OutboundMessage;
use async_nats::{Message, Subject};
use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use switchboard_core::{CallError, ErrorObject, FrameSink as _, FrameSource as _};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

use super::inbox::is_unheard;
use super::link::Link;
use super::subject::ANY;
use crate::framing::Framing;
use crate::raw::Raw;
use crate::stream::{self, StreamOptions, StreamSink, StreamSource};

/// How many bytes wait on the way.
const WAITING: usize = 64 << 10;

type Answer = Pin<Box<dyn Future<Output = Result<Message, CallError>> + Send>>;
type Sending = Pin<Box<dyn Future<Output = Result<(), ErrorObject>> + Send>>;

/// A pipe to the workers of a service: messages that end where their JSON ends.
pub(super) fn open(link: Arc<Link>) -> Raw {
    let (near, far) = tokio::io::duplex(WAITING);
    let (reader, writer) = tokio::io::split(far);
    let options = StreamOptions::new(Framing::default()).with_first_byte_time(None);
    let (source, sink) = stream::frames(reader, writer, &options);
    let any = Subject::from(format!("{}.{ANY}", link.address.service));
    let mut pipe = Pipe { link, any, source, sink, answers: FuturesUnordered::new(), sending: None };
    // It ends when the other end is dropped.
    tokio::spawn(async move { poll_fn(|cx| pipe.poll(cx)).await });
    Raw::new(near)
}

/// What is between bytes and messages.
struct Pipe {
    link: Arc<Link>,
    any: Subject,
    source: StreamSource<ReadHalf<DuplexStream>>,
    sink: StreamSink<WriteHalf<DuplexStream>>,
    answers: FuturesUnordered<Answer>,
    /// A message that waits for room. Later ones wait for it.
    sending: Option<Sending>,
}

impl Pipe {
    /// Ready when no more messages pass.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.poll_sent(cx) {
            let Poll::Ready(frame) = self.source.poll_frame(cx) else { break };
            let is_sent = frame.and_then(Result::ok).is_some_and(|frame| self.send(frame));
            if !is_sent {
                return Poll::Ready(());
            }
        }
        while let Poll::Ready(Some(answer)) = self.answers.poll_next_unpin(cx) {
            match answer {
                // The tool takes the end for that of the server.
                Err(_) => return Poll::Ready(()),
                Ok(message) if is_unheard(&message) => return Poll::Ready(()),
                Ok(message) if message.payload.is_empty() => {}
                Ok(message) => self.sink.push(&message.payload),
            }
        }
        match self.sink.poll_flush(cx) {
            Poll::Ready(Err(_)) => Poll::Ready(()),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    /// Whether the next message can be sent.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> bool {
        let is_sent = self.sending.as_mut().is_none_or(|sending| sending.as_mut().poll(cx).is_ready());
        if is_sent {
            self.sending = None;
        }
        is_sent
    }

    /// Sends a message. False if the broker does not take it.
    fn send(&mut self, payload: Bytes) -> bool {
        let opened = self.link.inbox.open("", self.any.clone());
        let (subject, reply) = (self.any.clone(), Some(opened.subject.clone()));
        match self.link.try_publish(OutboundMessage { subject, reply, payload, headers: None }) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return false,
            Err(message) => {
                let link = Arc::clone(&self.link);
                self.sending = Some(Box::pin(async move { link.publish(*message).await }));
            }
        }
        self.answers.push(Box::pin(async move { opened.mailbox.next().await }));
        true
    }
}
