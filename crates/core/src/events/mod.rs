//! The driver for carriers that bring one body and take its answer in parts: an event stream over HTTP.
//!
//! It is [`exchange`](crate::exchange()) with two differences. The items of a streamed reply are messages of their own,
//! each a response with the identifier of the call, pulled one by one when the carrier asks for the next. And a handler
//! can push notifications through [`Context::peer`]: they go out before whatever the handler gives after them.

mod outbox;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_core::Stream;

use self::outbox::{Outbox, Pusher};
use crate::batch::{Batch, Stop};
use crate::call::StreamWanted;
use crate::codec::{self, Fault, Incoming, Message, Request};
use crate::context::{Context, Version};
use crate::dispatch::{Started, call_of, start};
use crate::error::ErrorObject;
use crate::exchange::{Answer, note_lost, refuse, single, within};
use crate::id::Id;
use crate::peer::Peer;
use crate::profile::Settings;
use crate::reply::{Items, Reply};
use crate::service::Service;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The call with this identifier answers with a stream, whose items follow. Comes once, before the first item, and
    /// never for a plain result.
    Started(Id),
    /// One message: a response, the responses to a batch, or a notification that a handler pushed.
    Message(Bytes),
}

/// Answers one body with a stream of messages.
///
/// - A streamed reply gives one response for each item, all with the call's identifier. An error is a response too, and
///   the last one. An item may be as long as a [`reply`](crate::Limits::reply).
/// - A plain reply gives one response.
/// - A batch gives one message, the list of its responses, as [`exchange`](crate::exchange()) has it; streams in it are
///   collected.
/// - What a handler sends with [`notify`](Peer::notify) comes before its reply, or between the items. When half of
///   [`outbox`](crate::Limits::outbox) waits to be taken, `notify` waits. Calls of the caller fail with
///   [`Unsupported`](crate::CallError::Unsupported): it cannot answer here.
///
/// [`call_time`](crate::Limits::call_time) limits how long the reply may take to come. A stream may last longer.
///
/// # Cancel safety
///
/// Dropping the stream cancels every call of the body that is not done. A single call starts, and may be done, before
/// the stream is polled.
pub fn events(service: Arc<dyn Service>, body: &Bytes, cx: &Context, settings: Arc<Settings>) -> Events {
    let outbox = |version| Outbox::new(version, settings.limits.outbox / 2);
    if body.len() > settings.limits.frame {
        let refusal = Answer::refusal(&Fault::Frame(settings.limits.frame).into());
        return Events::new(Work::answered(refusal), outbox(Version::V2), settings, true);
    }
    match codec::decode(body, &settings) {
        Ok(Incoming::Single(Message::Request(request))) => {
            let outbox = outbox(request.version);
            begin(&*service, request, cx, outbox, settings)
        }
        Ok(Incoming::Single(message)) => {
            let refused = refuse(&message);
            let is_answered = refused.is_some();
            let answer =
                refused.map_or(Answer::Nothing, |(version, id, error)| single(version, id, Err(&error)));
            Events::new(Work::answered(answer), outbox(Version::V2), settings, is_answered)
        }
        Ok(Incoming::Batch(entries)) => {
            let is_answered = entries.iter().any(|entry| is_answered(&entry));
            let outbox = outbox(Version::V2);
            let cx = if is_answered { reachable(cx, &outbox) } else { cx.clone() };
            let limits = Arc::clone(&settings);
            let whole = Box::pin(async move {
                let batch = Box::new(Batch::new(&*service, entries, &cx, &limits));
                batch.finish(Stop::Pause).await.into_body()
            });
            Events::new(Work::Whole(whole), outbox, settings, is_answered)
        }
        Err(error) => {
            let answer = single(settings.profile.versions.unsaid(), &Id::NULL, Err(&error));
            Events::new(Work::answered(answer), outbox(Version::V2), settings, true)
        }
    }
}

fn is_answered(entry: &Message) -> bool {
    match entry {
        Message::Request(request) => request.id.is_some(),
        Message::Invalid(invalid) => invalid.id.is_some(),
        Message::Response(_) => true,
    }
}

/// The context of calls whose handlers can push into this outbox.
fn reachable(cx: &Context, outbox: &Arc<Outbox>) -> Context {
    cx.with_peer(Peer::new(Pusher(Arc::clone(outbox))))
}

/// Starts a single call or notification.
fn begin(
    service: &dyn Service,
    request: Request,
    cx: &Context,
    outbox: Arc<Outbox>,
    settings: Arc<Settings>,
) -> Events {
    let (version, id) = (request.version, request.id.clone());
    let Some(id) = id else {
        let started = start(service, &call_of(request, cx));
        let limits = Arc::clone(&settings);
        let whole = Box::pin(async move {
            note_lost(&finish(started, &limits).await);
            None
        });
        return Events::new(Work::Whole(whole), outbox, settings, false);
    };
    let mut call = call_of(request, &reachable(cx, &outbox));
    call.cx.insert(StreamWanted);
    let started = start(service, &call);
    let limits = Arc::clone(&settings);
    let reply = Box::pin(async move { finish(started, &limits).await });
    Events::new(Work::Call { version, id, reply }, outbox, settings, true)
}

async fn finish(started: Started, settings: &Settings) -> Reply {
    match started {
        Started::Done(reply) => reply,
        Started::Running(running) => running.finish(&settings.limits).await,
    }
}

/// The answer to one body, in parts. Made by [`events`].
///
/// Nothing runs on and no item is pulled unless it is polled.
#[must_use = "dropping the stream cancels the calls"]
pub struct Events {
    work: Work,
    /// What the work gave last. What was pushed before goes out first.
    given: Option<Event>,
    outbox: Arc<Outbox>,
    settings: Arc<Settings>,
    is_answered: bool,
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What is still to be done.
enum Work {
    /// All at once: a batch, or something that is no call.
    Whole(Boxed<Option<Bytes>>),
    /// A call without a reply.
    Call {
        version: Version,
        id: Id,
        reply: Boxed<Reply>,
    },
    /// A call that streams.
    Stream {
        version: Version,
        id: Id,
        items: Items,
    },
    Done,
}

impl Work {
    fn answered(answer: Answer) -> Work {
        Work::Whole(Box::pin(std::future::ready(answer.into_body())))
    }
}

impl Events {
    fn new(work: Work, outbox: Arc<Outbox>, settings: Arc<Settings>, is_answered: bool) -> Events {
        Events { work, given: None, outbox, settings, is_answered }
    }

    /// Whether anything is answered. If not, because only notifications came, the stream ends without a message as soon
    /// as they are done.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// Cancels what is not done, and answers it with this error. What was pushed still goes out.
    pub fn interrupt(&mut self, error: &ErrorObject) {
        let (version, id) = match std::mem::replace(&mut self.work, Work::Done) {
            Work::Done => return,
            Work::Whole(_) => (self.settings.profile.versions.unsaid(), Id::NULL),
            Work::Call { version, id, .. } | Work::Stream { version, id, .. } => (version, id),
        };
        self.outbox.close();
        self.given = single(version, &id, Err(error)).into_body().map(Event::Message);
    }

    /// Goes on with the work until it gives something or has to wait; nothing once it is done.
    fn poll_work(&mut self, cx: &mut Poller<'_>) -> Poll<Option<Event>> {
        loop {
            match &mut self.work {
                Work::Done => return Poll::Ready(None),
                Work::Whole(whole) => {
                    let Poll::Ready(body) = whole.as_mut().poll(cx) else { return Poll::Pending };
                    self.work = Work::Done;
                    if let Some(body) = body {
                        return Poll::Ready(Some(Event::Message(body)));
                    }
                }
                Work::Call { version, id, reply } => {
                    let Poll::Ready(reply) = reply.as_mut().poll(cx) else { return Poll::Pending };
                    let (version, id) = (*version, id.clone());
                    return Poll::Ready(Some(self.take(version, id, reply)));
                }
                Work::Stream { version, id, items } => {
                    let Poll::Ready(item) = Pin::new(items).poll_next(cx) else { return Poll::Pending };
                    let Some(item) = item else {
                        self.work = Work::Done;
                        continue;
                    };
                    let outcome = within(item, self.settings.limits.reply);
                    let response = response(*version, id, outcome.as_ref());
                    // A gap is told like an error, and the stream goes on.
                    if outcome.is_err_and(|error| error.gap().is_none()) {
                        self.work = Work::Done;
                    }
                    return Poll::Ready(Some(response));
                }
            }
        }
    }

    fn take(&mut self, version: Version, id: Id, reply: Reply) -> Event {
        let outcome = match reply {
            Reply::Value(json) => Ok(json),
            Reply::Error(error) => Err(error),
            Reply::Stream(items) => {
                self.work = Work::Stream { version, id: id.clone(), items };
                return Event::Started(id);
            }
        };
        self.work = Work::Done;
        response(version, &id, within(outcome, self.settings.limits.reply).as_ref())
    }
}

fn response(version: Version, id: &Id, outcome: Result<&crate::json::Json, &ErrorObject>) -> Event {
    let body = single(version, id, outcome).into_body();
    Event::Message(body.expect("a single answer has a body"))
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        this.outbox.register(cx);
        loop {
            if let Some(message) = this.outbox.pop() {
                return Poll::Ready(Some(Event::Message(message)));
            }
            if let Some(event) = this.given.take() {
                return Poll::Ready(Some(event));
            }
            if matches!(this.work, Work::Done) {
                // Whoever still holds the peer is told that it is too late. What came in between is not lost.
                this.outbox.close();
                return Poll::Ready(this.outbox.pop().map(Event::Message));
            }
            match this.poll_work(cx) {
                Poll::Ready(event) => this.given = event,
                Poll::Pending => {
                    return match this.outbox.pop() {
                        Some(message) => Poll::Ready(Some(Event::Message(message))),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("is_done", &matches!(self.work, Work::Done)).finish_non_exhaustive()
    }
}
