//! The parts of an answer, as they arrive.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_nats::Message;
use async_nats::message::OutboundMessage;
use bytes::Bytes;
use switchboard_core::codec::{self, Incoming};
use switchboard_core::{CallError, Gap, Json, ReplyFuture, Subscription};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use super::caller::Waiting;
use super::inbox::Mailbox;
use super::part::{Control, Kind, WINDOW, WINDOW_BYTES, read_part};
use crate::parts::{Next, Notifications, Source};

/// How long a worker may be silent: three beats.
const SILENCE: Duration = Duration::from_secs(15);

/// What the subjects of workers begin with. A worker must not choose any other subject for this side to send to.
pub(super) const INBOXES: &str = "_INBOX";

/// The parts of one answer.
pub(super) struct Parts {
    waiting: Waiting,
    notifications: Notifications,
    /// The number that the next part should have.
    expected: u64,
    /// Parts with smaller numbers may be sent.
    granted: u64,
    /// How many bytes were read since then.
    read: usize,
    arrivals: Arrivals,
    /// A notification that is being handled. Later parts wait for it.
    handling: Option<ReplyFuture>,
    has_answered: bool,
    is_stream: bool,
    has_ended: bool,
    /// Calls of the handler to its caller.
    answering: JoinSet<()>,
}

/// The messages of an answer, as long as its worker is there.
struct Arrivals {
    mailbox: Arc<Mailbox>,
    /// A message that arrived, and is looked at next.
    held: Option<Message>,
    timer: Pin<Box<Sleep>>,
}

impl Arrivals {
    fn new(mailbox: Arc<Mailbox>, first: Message) -> Arrivals {
        Arrivals { mailbox, held: Some(first), timer: Box::pin(tokio::time::sleep(SILENCE)) }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, CallError>> {
        if let Some(message) = self.held.take() {
            return Poll::Ready(Ok(message));
        }
        match self.mailbox.poll_next(cx) {
            Poll::Ready(Ok(message)) => {
                self.timer.as_mut().reset(Instant::now() + SILENCE);
                Poll::Ready(Ok(message))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.timer.as_mut().poll(cx).map(|()| {
                let why = format!("the worker was lost: it sent nothing for {} s", SILENCE.as_secs());
                Err(CallError::Closed(why.into()))
            }),
        }
    }
}

impl Parts {
    pub(super) fn new(waiting: Waiting, first: Message, notifications: Notifications) -> Parts {
        let arrivals = Arrivals::new(Arc::clone(&waiting.opened.mailbox), first);
        Parts {
            waiting,
            notifications,
            expected: 0,
            granted: WINDOW,
            read: 0,
            arrivals,
            handling: None,
            has_answered: false,
            is_stream: false,
            has_ended: false,
            answering: JoinSet::new(),
        }
    }

    /// Looks at one part. None if it does not matter to those who wait for responses.
    fn take(&mut self, message: Message) -> Result<Option<Next>, CallError> {
        let part = match read_part(message.headers.as_ref()) {
            Some(Ok(part)) => part,
            // A whole answer after all.
            None => (self.expected, Kind::Item),
            Some(Err(())) => {
                return Err(CallError::Protocol("a part of the answer has an invalid header".into()));
            }
        };
        let (number, kind) = part;
        if let Some(worker) = message.reply.as_ref().filter(|worker| worker.starts_with(INBOXES)) {
            self.waiting.worker.get_or_insert_with(|| worker.clone());
        }
        let next = if kind == Kind::Beat { number.saturating_add(1) } else { number };
        if next < self.expected {
            return Ok(None);
        }
        let lost = next - self.expected;
        if lost > 0 && self.is_stream {
            self.expected = next;
            self.arrivals.held = Some(message);
            return Ok(Some(Next::Gap(gap(lost))));
        }
        self.expected = if kind == Kind::Beat { next } else { number.saturating_add(1) };
        self.read += message.payload.len();
        self.grant(kind == Kind::Beat);
        match kind {
            Kind::Accepted | Kind::Beat => Ok(None),
            Kind::Stream => {
                self.is_stream = true;
                self.waiting.opened.mailbox.set_stream();
                let names =
                    Json::parse(message.payload).ok().and_then(|names| Subscription::from_json(&names));
                Ok(Some(Next::Started(names)))
            }
            Kind::Item => self.response(message.payload).map(Some),
            Kind::Push => {
                self.handling = self.pushed(&message.payload)?;
                Ok(None)
            }
            Kind::End | Kind::Nothing => {
                self.has_ended = true;
                self.waiting.is_done = true;
                if !message.payload.trim_ascii().is_empty() {
                    return self.response(message.payload).map(Some);
                }
                self.end().map(Some)
            }
        }
    }

    fn end(&self) -> Result<Next, CallError> {
        if self.is_stream || self.has_answered {
            return Ok(Next::Ended);
        }
        Err(CallError::Closed("the answer ended without a response: a part of it was lost".into()))
    }

    /// Allows more parts when half of them, or half of the bytes, were read. `again` repeats what may have been lost.
    fn grant(&mut self, again: bool) {
        let is_half =
            self.expected.saturating_add(WINDOW / 2) > self.granted || self.read >= WINDOW_BYTES / 2;
        if again || is_half {
            self.read = 0;
            self.granted = self.expected.saturating_add(WINDOW);
            self.waiting.tell(Control::Credit(self.granted));
        }
    }

    fn response(&mut self, payload: Bytes) -> Result<Next, CallError> {
        self.has_answered = true;
        match codec::decode(&payload, self.waiting.settings()) {
            Ok(Incoming::Single(codec::Message::Response(response))) => Ok(Next::Response(response, payload)),
            Ok(Incoming::Batch(_)) => Ok(Next::Batch(payload)),
            _ => Err(CallError::Protocol("a part of the answer is not a response object".into())),
        }
    }

    /// Handles what the handler sent in between: a notification, or a call to be answered.
    fn pushed(&mut self, payload: &Bytes) -> Result<Option<ReplyFuture>, CallError> {
        let decoded = codec::decode(payload, self.waiting.settings());
        let Ok(Incoming::Single(codec::Message::Request(request))) = decoded else {
            return Err(CallError::Protocol("a pushed message is not a request object".into()));
        };
        if request.id.is_none() {
            return Ok(self.notifications.handle(request));
        }
        while self.answering.try_join_next().is_some() {}
        let limit = self.waiting.settings().limits.in_flight;
        if self.answering.len() >= limit {
            let why = format!("the worker makes more than {limit} calls at once (limits.in_flight)");
            return Err(CallError::Protocol(why.into()));
        }
        let answer = self.waiting.answer(payload.clone());
        let (control, worker) = (self.waiting.control(Control::Response), self.waiting.link());
        self.answering.spawn(async move {
            let (Some(body), Some(control)) = (answer.await.into_body(), control) else { return };
            drop(worker.publish(OutboundMessage { payload: body, ..control }).await);
        });
        Ok(None)
    }
}

impl Source for Parts {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Next, CallError>> {
        loop {
            if let Some(handling) = &mut self.handling {
                ready!(Pin::new(handling).poll(cx));
                self.handling = None;
            }
            if self.has_ended {
                return Poll::Ready(self.end());
            }
            let message = ready!(self.arrivals.poll_next(cx))?;
            if let Some(next) = self.take(message)? {
                return Poll::Ready(Ok(next));
            }
        }
    }

    fn finish(&mut self, cx: &mut Context<'_>) {
        while !self.has_ended && matches!(self.poll_next(cx), Poll::Ready(Ok(_))) {}
    }
}

/// This many parts were lost.
fn gap(lost: u64) -> Gap {
    let mut gap = Gap::reconnected();
    gap.lost = Some(lost);
    gap
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use switchboard_core::{Code, ErrorObject};

    use super::super::inbox::Inbox;
    use super::*;

    fn message(subject: &async_nats::Subject) -> Message {
        Message {
            subject: subject.clone(),
            reply: None,
            payload: Bytes::new(),
            headers: None,
            status: None,
            description: None,
            length: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_silent_for_three_beats_is_lost() {
        let inbox = Inbox::new("_INBOX.x.".to_owned());
        let opened = inbox.open("~", "math.slow".into());
        let mut arrivals = Arrivals::new(Arc::clone(&opened.mailbox), message(&opened.subject));
        let mut next = async || poll_fn(|cx| arrivals.poll_next(cx)).await;
        assert!(next().await.is_ok());
        // Beats keep it alive, however late each is.
        for _ in 0..3 {
            tokio::time::advance(SILENCE - Duration::from_millis(1)).await;
            assert!(inbox.deliver(message(&opened.subject)).is_none());
            assert!(next().await.is_ok());
        }
        let begun = Instant::now();
        let lost = next().await.unwrap_err();
        assert!(matches!(&lost, CallError::Closed(why) if why.contains("was lost")), "{lost:?}");
        assert_eq!(begun.elapsed(), SILENCE);
        assert_eq!(ErrorObject::from(lost).code, Code::UPSTREAM_FAILED);
    }
}
