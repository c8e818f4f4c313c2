//! The driver for carriers that bring one body and take one answer: HTTP POST, a message queue's request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::code::Code;
use crate::codec::{self, Incoming, Invalid, Message, Outcome, Response};
use crate::context::{Context, Version};
use crate::dispatch::{Running, Started, call_of, start};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::limits::Limits;
use crate::profile::Settings;
use crate::reply::{Items, Reply};
use crate::service::Service;
use crate::text::Text;

/// What goes back over a carrier that takes one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Nothing: there were only notifications (J2-17, J2-44).
    Nothing,
    /// One response object, and the code of its error if it is one.
    Single(Bytes, Option<Code>),
    /// The responses to a batch (J2-41).
    Batch(Bytes),
}

impl Answer {
    /// The text to send, if there is any.
    #[must_use]
    pub fn body(&self) -> Option<&Bytes> {
        match self {
            Answer::Nothing => None,
            Answer::Single(body, _) | Answer::Batch(body) => Some(body),
        }
    }

    /// One error that answers the body as a whole, with a `null` identifier.
    #[must_use]
    pub fn refusal(error: &ErrorObject) -> Answer {
        single(Version::V2, &Id::NULL, Err(error))
    }
}

/// Answers one body.
///
/// The entries of a batch start in order and run concurrently, up to
/// [`batch_concurrency`](Limits::batch_concurrency); their responses come in the order of the entries. A notification is
/// done before anything after it starts. A streamed reply is collected into an array.
///
/// # Cancel safety
///
/// Dropping the future cancels every call of the body that is not done. A single call starts, and may be done, before
/// the future is polled.
pub fn exchange<'a>(
    service: &'a dyn Service,
    body: Bytes,
    cx: &'a Context,
    settings: &'a Settings,
) -> impl Future<Output = Answer> + Send + use<'a> {
    let incoming = codec::decode(&body, settings);
    drop(body);
    match incoming {
        Err(error) => Exchange::done(Answer::refusal(&error)),
        Ok(Incoming::Single(message)) => one(service, message, cx, settings),
        Ok(Incoming::Batch(entries)) => Exchange::running(batch(service, entries, cx, settings)),
    }
}

/// An answer that may be there already. Small, so that a carrier can hold one for each request.
enum Exchange<'a> {
    Done(Option<Answer>),
    Running(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
}

impl<'a> Exchange<'a> {
    fn done(answer: Answer) -> Exchange<'a> {
        Exchange::Done(Some(answer))
    }

    fn running(future: impl Future<Output = Answer> + Send + 'a) -> Exchange<'a> {
        Exchange::Running(Box::pin(future))
    }
}

impl Future for Exchange<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Answer> {
        match &mut *self {
            Exchange::Done(answer) => {
                Poll::Ready(answer.take().expect("a finished future is not polled again"))
            }
            Exchange::Running(future) => future.as_mut().poll(cx),
        }
    }
}

/// What a message asks of a driver that has no calls of its own under way.
enum Work {
    /// A call was started; with an identifier if it is to be answered.
    Started(Version, Option<Id>, Started),
    /// Nothing to start, this is the answer.
    Refused(Version, Id, ErrorObject),
    /// Nothing to start, and no answer either.
    Ignored,
}

#[inline]
fn begin(service: &dyn Service, message: Message, cx: &Context) -> Work {
    match message {
        Message::Request(request) => {
            let (version, id) = (request.version, request.id.clone());
            Work::Started(version, id, start(service, call_of(request, cx)))
        }
        Message::Invalid(Invalid { version, id: Some(id), error }) => Work::Refused(version, id, error),
        Message::Invalid(Invalid { id: None, .. }) => Work::Ignored,
        Message::Response(response) => stray(response),
    }
}

/// A response where no call was made is an invalid request (J2-50); an error without an identifier is never answered,
/// lest two sides answer each other for ever.
fn stray(response: Response) -> Work {
    if response.id.is_null() && matches!(response.outcome, Outcome::Error(_)) {
        return Work::Ignored;
    }
    let error = ErrorObject::invalid_request("this is a response; nothing was called over this carrier");
    Work::Refused(response.version, response.id, error)
}

fn one<'a>(service: &dyn Service, message: Message, cx: &Context, settings: &'a Settings) -> Exchange<'a> {
    let limits = &settings.limits;
    let (version, id, started) = match begin(service, message, cx) {
        Work::Started(version, id, started) => (version, id, started),
        Work::Refused(version, id, error) => return Exchange::done(single(version, &id, Err(&error))),
        Work::Ignored => return Exchange::done(Answer::Nothing),
    };
    let Some(id) = id else { return notification(started, limits) };
    let outcome = match started {
        Started::Done(Reply::Value(json)) => Ok(json),
        Started::Done(Reply::Error(error)) => Err(error),
        started => {
            return Exchange::running(async move {
                let outcome = settle(started.finish(limits).await, limits).await;
                single(version, &id, within(outcome, limits.reply).as_ref())
            });
        }
    };
    Exchange::done(single(version, &id, within(outcome, limits.reply).as_ref()))
}

fn notification(started: Started, limits: &Limits) -> Exchange<'_> {
    match started {
        Started::Done(reply) => {
            note_lost(&reply);
            Exchange::done(Answer::Nothing)
        }
        started => Exchange::running(async move {
            note_lost(&started.finish(limits).await);
            Answer::Nothing
        }),
    }
}

#[inline]
fn single(version: Version, id: &Id, outcome: Result<&Json, &ErrorObject>) -> Answer {
    // Exactly what a result takes: bytes that fill their buffer are shared without another allocation.
    let around = if version == Version::V2 { 33 } else { 30 };
    let size = outcome.map_or(128, |json| json.as_bytes().len());
    let mut out = Vec::with_capacity(around + id.as_bytes().len() + size);
    codec::response(&mut out, version, id, outcome);
    Answer::Single(Bytes::from(out), outcome.err().map(|error| error.code))
}

async fn batch(service: &dyn Service, entries: Vec<Message>, cx: &Context, settings: &Settings) -> Answer {
    let mut run = BatchRun::new(&settings.limits, entries.len());
    for entry in entries {
        match begin(service, entry, cx) {
            Work::Ignored => {}
            Work::Refused(version, id, error) => run.answer(version, id, Some(Err(error))),
            Work::Started(_, None, Started::Done(reply)) => note_lost(&reply),
            Work::Started(_, None, Started::Running(running)) => {
                run.notification(running, settings.profile.ordered_notifications).await;
            }
            Work::Started(version, Some(id), Started::Done(Reply::Value(json))) => {
                run.answer(version, id, Some(Ok(json)));
            }
            Work::Started(version, Some(id), started) => run.call(version, id, started).await,
        }
    }
    run.finish().await
}

/// A batch on its way: what is answered, in order, and what still runs.
struct BatchRun<'a> {
    limits: &'a Limits,
    out: Vec<u8>,
    /// Answers that wait for one before them. Empty as long as every call was done at once.
    waiting: Vec<(Version, Id, Option<Result<Json, ErrorObject>>)>,
    running: FuturesUnordered<BatchCall<'a>>,
}

type BatchCall<'a> = Pin<Box<dyn Future<Output = (Place, Reply)> + Send + 'a>>;

/// Where the outcome of something that runs belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It answers this entry of the waiting list.
    Answer(usize),
    /// It is a notification: nowhere.
    Nowhere,
}

impl<'a> BatchRun<'a> {
    fn new(limits: &'a Limits, entries: usize) -> BatchRun<'a> {
        let out = Vec::with_capacity(entries * 48);
        BatchRun { limits, out, waiting: Vec::new(), running: FuturesUnordered::new() }
    }

    /// Takes the outcome of an entry, or keeps its place until there is one.
    fn answer(&mut self, version: Version, id: Id, outcome: Option<Result<Json, ErrorObject>>) {
        match outcome {
            Some(outcome) if self.waiting.is_empty() => self.write(version, &id, outcome),
            outcome => self.waiting.push((version, id, outcome)),
        }
    }

    fn write(&mut self, version: Version, id: &Id, outcome: Result<Json, ErrorObject>) {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
        let room = self.limits.batch_reply.saturating_sub(self.out.len());
        let outcome = within(outcome, room.min(self.limits.reply));
        codec::response(&mut self.out, version, id, outcome.as_ref());
    }

    async fn call(&mut self, version: Version, id: Id, started: Started) {
        while self.running.len() >= self.limits.batch_concurrency.max(1) {
            self.next().await;
        }
        let place = Place::Answer(self.waiting.len());
        self.answer(version, id, None);
        let limits = self.limits;
        self.running.push(Box::pin(async move {
            (place, Reply::from(settle(started.finish(limits).await, limits).await))
        }));
        self.poll_once().await;
    }

    async fn notification(&mut self, running: Running, is_barrier: bool) {
        let limits = self.limits;
        self.running.push(Box::pin(async move { (Place::Nowhere, running.finish(limits).await) }));
        while is_barrier && self.next().await != Some(Place::Nowhere) {}
    }

    /// Lets what was just started do its first step before the next entry starts.
    async fn poll_once(&mut self) {
        std::future::poll_fn(|cx| {
            while let Poll::Ready(Some((place, reply))) = self.running.poll_next_unpin(cx) {
                self.place(place, reply);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits until one more is done.
    async fn next(&mut self) -> Option<Place> {
        let (place, reply) = self.running.next().await?;
        self.place(place, reply);
        Some(place)
    }

    fn place(&mut self, place: Place, reply: Reply) {
        match (place, reply) {
            (Place::Answer(at), Reply::Value(json)) => self.waiting[at].2 = Some(Ok(json)),
            (Place::Answer(at), Reply::Error(error)) => self.waiting[at].2 = Some(Err(error)),
            (Place::Answer(_), Reply::Stream(_)) => {}
            (Place::Nowhere, reply) => note_lost(&reply),
        }
    }

    async fn finish(mut self) -> Answer {
        while self.next().await.is_some() {}
        for (version, id, outcome) in std::mem::take(&mut self.waiting) {
            self.write(version, &id, outcome.expect("everything that ran is done"));
        }
        if self.out.is_empty() {
            return Answer::Nothing;
        }
        self.out.push(b']');
        Answer::Batch(Bytes::from(self.out))
    }
}

/// A reply as one outcome: a stream is collected.
async fn settle(reply: Reply, limits: &Limits) -> Result<Json, ErrorObject> {
    match reply {
        Reply::Value(json) => Ok(json),
        Reply::Error(error) => Err(error),
        Reply::Stream(items) => tokio::time::timeout(limits.call_time, collect(items, limits.reply))
            .await
            .unwrap_or_else(|_| Err(ErrorObject::timed_out())),
    }
}

async fn collect(mut items: Items, limit: usize) -> Result<Json, ErrorObject> {
    let mut array = vec![b'['];
    while let Some(item) = items.next().await {
        let item = item?;
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(item.as_bytes());
        if array.len() > limit {
            return Err(too_large(limit));
        }
    }
    array.push(b']');
    Ok(Json::from_text(Text::from_vec(array)))
}

/// Puts an error in the place of a result that is too long (SEC-L-03).
#[inline]
pub(crate) fn within(outcome: Result<Json, ErrorObject>, limit: usize) -> Result<Json, ErrorObject> {
    match outcome {
        Ok(json) if json.as_bytes().len() > limit => Err(too_large(limit)),
        Err(error) if error.data.as_ref().is_some_and(|data| data.as_bytes().len() > limit) => {
            Err(too_large(limit))
        }
        fits => fits,
    }
}

fn too_large(limit: usize) -> ErrorObject {
    let detail = format!("the reply has more than {limit} bytes (limits.reply)");
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail)
}

/// The failure of a notification is nobody's to hear (J2-18) but the log's.
pub(crate) fn note_lost(reply: &Reply) {
    if let Reply::Error(error) = reply {
        tracing::debug!(code = error.code.0, "a notification failed");
    }
}
