//! Answering one call in parts.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{Message, Subject};
use bytes::Bytes;
use futures_core::Stream as _;
use switchboard_core::codec::{self, Incoming};
use switchboard_core::{Cause, Context, Delivery, Engine, ErrorObject, First, Output, Outputs, Subscription};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use super::inbox::{Opened, is_unheard};
use super::link::Link;
use super::part::{Control, Kind, WINDOW, WINDOW_BYTES, part_headers};
use super::worker::{Stage, whole};

/// How long a call may take before its caller gets a message that it was accepted.
const ACCEPTED_AFTER: Duration = Duration::from_millis(100);

/// How long nothing is sent before a beat.
const BEAT: Duration = Duration::from_secs(5);

/// How long the reader of a stream may take to reconnect. Until then, what it does not receive is lost.
const RECONNECTING: Duration = Duration::from_secs(3);

/// How many parts end a stream, which are sent whether its reader is ready or not.
const LAST: u64 = 4;

/// A call that is answered in parts, or as a whole if that is ready soon.
pub(super) struct Answering {
    link: Arc<Link>,
    engine: Engine,
    cx: Context,
    outputs: Outputs,
    /// Where the parts go.
    to: Subject,
    /// Where control messages arrive.
    control: Option<Opened>,
    /// Since when parts have no receiver.
    unheard: Option<Instant>,
    /// The number of the next part.
    next: u64,
    /// Parts with smaller numbers may be sent.
    allowed: u64,
    ahead: Ahead,
}

/// What was sent, and may not have been read yet.
#[derive(Default)]
struct Ahead {
    /// The numbers of parts, and how many bytes each has.
    parts: VecDeque<(u64, usize)>,
    bytes: usize,
}

impl Ahead {
    fn sent(&mut self, number: u64, bytes: usize) {
        self.parts.push_back((number, bytes));
        self.bytes += bytes;
    }

    /// All parts before this number were read.
    fn read(&mut self, until: u64) {
        while let Some(&(number, bytes)) = self.parts.front()
            && number < until
        {
            self.parts.pop_front();
            self.bytes -= bytes;
        }
    }
}

/// What happens next to a call.
enum Event {
    Output(Output),
    Finished,
    Control(Message),
    /// Nothing was sent for a while.
    Silence,
    /// The worker has reached the next stage of its end.
    Stopping,
    /// The connection was lost, and the caller does not wait any more.
    Lost,
}

impl Answering {
    pub(super) fn new(
        link: Arc<Link>,
        engine: Engine,
        cx: Context,
        outputs: Outputs,
        to: Subject,
    ) -> Answering {
        Answering {
            link,
            engine,
            cx,
            outputs,
            to,
            control: None,
            unheard: None,
            next: 0,
            allowed: WINDOW,
            ahead: Ahead::default(),
        }
    }

    /// Answers the call to its end, or until the worker stops.
    pub(super) async fn run(mut self, send_time: Duration, mut stage: watch::Receiver<Stage>) {
        match tokio::time::timeout(ACCEPTED_AFTER, self.outputs.first()).await {
            Ok(First::Whole(answer)) => {
                let message = whole(self.to.clone(), answer.into_body());
                return self.publish(message.payload, message.headers, None).await;
            }
            // Whatever it is, it comes in parts from here on.
            _ => self.control = Some(self.link.inbox.open("", self.to.clone())),
        }
        self.send(Kind::Accepted, Bytes::new()).await;
        let mut silence = Box::pin(tokio::time::sleep(BEAT));
        let mut stalled = Instant::now();
        loop {
            if self.may_send() {
                stalled = Instant::now();
            } else if stalled.elapsed() >= send_time {
                tracing::debug!("ended a stream whose reader takes nothing (limits.send_time)");
                return;
            }
            match self.event(&mut silence, &mut stage).await {
                Event::Output(Output::Started(_)) => {
                    if let Some(control) = &self.control {
                        control.mailbox.set_stream();
                    }
                    let names = self.outputs.stream_names().map(Subscription::to_json);
                    let names = names.map_or_else(Bytes::new, |names| names.as_bytes().to_vec().into());
                    self.send(Kind::Stream, names).await;
                    self.stop(*stage.borrow());
                }
                Event::Stopping => {
                    self.stop(*stage.borrow());
                    continue;
                }
                Event::Output(Output::Message(text, Cause::Answer)) => self.send(Kind::Item, text).await,
                Event::Output(Output::Message(text, _)) => self.send(Kind::Push, text).await,
                Event::Output(_) => continue,
                Event::Finished => return self.send(Kind::End, Bytes::new()).await,
                Event::Control(message) => match self.is_over(message).await {
                    true => return,
                    false => continue,
                },
                Event::Silence => self.beat().await,
                Event::Lost => return,
            }
            silence.as_mut().reset(Instant::now() + BEAT);
        }
    }

    async fn event(&mut self, silence: &mut Pin<Box<Sleep>>, stage: &mut watch::Receiver<Stage>) -> Event {
        tokio::select! {
            biased;
            changed = stage.changed() => changed.map_or(Event::Lost, |()| Event::Stopping),
            event = poll_fn(|cx| self.poll_event(silence.as_mut(), cx)) => event,
        }
    }

    /// Ends the calls that this stage does not wait for: streams first, because most of them never end.
    fn stop(&mut self, stage: Stage) {
        let ends = match stage {
            Stage::Working => false,
            Stage::Draining => self.outputs.is_streaming(),
            Stage::Ending => true,
        };
        if ends {
            self.outputs.interrupt(&ErrorObject::stopped());
            self.allowed = self.allowed.max(self.next + LAST);
            self.ahead = Ahead::default();
        }
    }

    fn may_send(&self) -> bool {
        self.next < self.allowed && self.ahead.bytes < WINDOW_BYTES
    }

    fn poll_event(&mut self, silence: Pin<&mut Sleep>, cx: &mut Poller<'_>) -> Poll<Event> {
        if let Some(control) = &self.control
            && let Poll::Ready(message) = control.mailbox.poll_next(cx)
        {
            return Poll::Ready(message.map_or(Event::Lost, Event::Control));
        }
        if self.may_send()
            && let Poll::Ready(output) = Pin::new(&mut self.outputs).poll_next(cx)
        {
            return Poll::Ready(output.map_or(Event::Finished, Event::Output));
        }
        silence.poll(cx).map(|()| Event::Silence)
    }

    /// Takes a control message. True if the caller does not wait for the answer any more.
    async fn is_over(&mut self, message: Message) -> bool {
        // The caller is gone, or did not reconnect yet.
        if is_unheard(&message) {
            let since = *self.unheard.get_or_insert_with(Instant::now);
            return !self.outputs.is_streaming() || since.elapsed() > RECONNECTING;
        }
        self.unheard = None;
        match Control::read(message.headers.as_ref()) {
            Some(Control::Cancel) => return true,
            // Never more than a window ahead, whatever the caller says.
            Some(Control::Credit(upto)) => {
                self.allowed = self.allowed.max(upto.min(self.next + WINDOW));
                self.ahead.read(upto.saturating_sub(WINDOW));
            }
            Some(Control::Response) => self.respond(message.payload),
            None => tracing::debug!("dropped an unknown control message"),
        }
        false
    }

    /// Takes the response to a call of the handler. Nothing else: a call would not have been admitted.
    fn respond(&self, payload: Bytes) {
        let decoded = codec::decode(&payload, self.engine.settings());
        let is_response = matches!(decoded, Ok(Incoming::Single(codec::Message::Response(_))));
        if is_response && self.cx.session().is_exclusive() {
            let delivery = Delivery::Either { wants_stream: false };
            drop(self.engine.outputs(payload, &self.cx, delivery));
        }
    }

    /// Says that the worker is there, with the number of the last part.
    async fn beat(&mut self) {
        let headers = part_headers(self.next.saturating_sub(1), Kind::Beat);
        self.publish(Bytes::new(), Some(headers), self.controlled()).await;
    }

    async fn send(&mut self, kind: Kind, body: Bytes) {
        let headers = part_headers(self.next, kind);
        self.ahead.sent(self.next, body.len());
        self.next += 1;
        self.publish(body, Some(headers), self.controlled()).await;
    }

    fn controlled(&self) -> Option<Subject> {
        self.control.as_ref().map(|control| control.subject.clone())
    }

    async fn publish(
        &mut self,
        payload: Bytes,
        headers: Option<async_nats::HeaderMap>,
        reply: Option<Subject>,
    ) {
        let message = OutboundMessage { subject: self.to.clone(), reply, payload, headers };
        if let Err(error) = self.link.publish(message).await {
            tracing::debug!(%error, "a part of an answer was not sent");
        }
    }
}
