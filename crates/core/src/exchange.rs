//! The driver for carriers that bring one body and take one answer: HTTP POST, a message queue's request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use crate::batch::{Batch, Stop};
use crate::code::Code;
use crate::codec::{self, Fault, Incoming, Invalid, Message, Outcome, Response};
use crate::context::{Context, Version};
use crate::dispatch::{Running, Started, call_of, last_moment, start};
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

    /// The text to send, if there is any.
    #[must_use]
    pub fn into_body(self) -> Option<Bytes> {
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
) -> Exchange<'a> {
    match begin_exchange(service, body, cx, settings) {
        Begun::Answered(answer) => Exchange(State::Done(Some(answer))),
        waiting => Exchange(State::Running(Box::pin(finish_exchange(waiting, cx, settings)))),
    }
}

/// An answer that may be there already. Small, so that a carrier can hold one for each request.
#[must_use = "dropping the future cancels the calls"]
pub struct Exchange<'a>(State<'a>);

enum State<'a> {
    Done(Option<Answer>),
    Running(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
}

impl Future for Exchange<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Answer> {
        match &mut self.0 {
            State::Done(answer) => Poll::Ready(answer.take().expect("a finished future is not polled again")),
            State::Running(future) => future.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("is_done", &matches!(self.0, State::Done(_))).finish()
    }
}

/// The rest of an exchange that could not be answered at once.
async fn finish_exchange(begun: Begun<'_>, cx: &Context, settings: &Settings) -> Answer {
    match begun {
        Begun::Answered(answer) => answer,
        Begun::Batch(batch, stop) => batch.finish(stop).await,
        Begun::Running(version, id, running) => {
            let until = last_moment(cx.deadline, &settings.limits);
            finish(version, id, running.finish_by(until).await, until, settings).await
        }
        Begun::Settling(version, id, reply) => {
            finish(version, id, reply, last_moment(cx.deadline, &settings.limits), settings).await
        }
    }
}

/// How far a body comes without waiting.
enum Begun<'a> {
    Answered(Answer),
    Running(Version, Option<Id>, Running),
    /// There is a reply, which is not simply a result.
    Settling(Version, Option<Id>, Reply),
    /// Some entries of a batch are not done.
    Batch(Box<Batch<'a>>, Stop),
}

/// Answers a body at once where that can be done, which is the usual case and the one that must be fast.
fn begin_exchange<'a>(
    service: &'a dyn Service,
    body: Bytes,
    cx: &'a Context,
    settings: &'a Settings,
) -> Begun<'a> {
    if body.len() > settings.limits.frame {
        return Begun::Answered(Answer::refusal(&Fault::Frame(settings.limits.frame).into()));
    }
    let incoming = codec::decode(&body, settings);
    drop(body);
    let message = match incoming {
        Ok(Incoming::Single(message)) => message,
        Ok(Incoming::Batch(entries)) => return begin_batch(Batch::new(service, entries, cx, settings)),
        Err(error) => {
            return Begun::Answered(single(settings.profile.versions.unsaid(), &Id::NULL, Err(&error)));
        }
    };
    let Message::Request(request) = message else {
        return Begun::Answered(match refuse(&message) {
            Some((version, id, error)) => single(version, id, Err(&error)),
            None => Answer::Nothing,
        });
    };
    let (version, id) = (request.version, request.id.clone());
    match (start(service, &call_of(request, cx)), id) {
        (Started::Done(Reply::Value(json)), Some(id)) if json.as_bytes().len() <= settings.limits.reply => {
            Begun::Answered(single(version, &id, Ok(&json)))
        }
        (Started::Done(Reply::Error(error)), Some(id)) => {
            let outcome = within(Err(error), settings.limits.reply);
            Begun::Answered(single(version, &id, outcome.as_ref()))
        }
        (Started::Done(reply), None) => {
            note_lost(&reply);
            Begun::Answered(Answer::Nothing)
        }
        (Started::Done(reply), id) => Begun::Settling(version, id, reply),
        (Started::Running(running), id) => Begun::Running(version, id, running),
    }
}

/// Apart from what every single call passes, which it would only slow down.
#[inline(never)]
fn begin_batch(mut batch: Batch<'_>) -> Begun<'_> {
    match batch.answer_ready() {
        Stop::Finished => Begun::Answered(batch.answer()),
        stop => Begun::Batch(Box::new(batch), stop),
    }
}

async fn finish(
    version: Version,
    id: Option<Id>,
    reply: Reply,
    until: Instant,
    settings: &Settings,
) -> Answer {
    let Some(id) = id else {
        note_lost(&reply);
        return Answer::Nothing;
    };
    let outcome = within(settle(reply, until, &settings.limits).await, settings.limits.reply);
    single(version, &id, outcome.as_ref())
}

/// The answer to a message that asks for no call, if it gets any.
pub(crate) fn refuse(message: &Message) -> Option<(Version, &Id, ErrorObject)> {
    match message {
        Message::Invalid(Invalid { version, id, error }) => {
            id.as_ref().map(|id| (*version, id, error.clone()))
        }
        Message::Response(response) => stray(response),
        Message::Request(_) => None,
    }
}

/// A response where no call was made is an invalid request (J2-50); an error without an identifier is never answered,
/// lest two sides answer each other for ever.
fn stray(response: &Response) -> Option<(Version, &Id, ErrorObject)> {
    if response.id.is_null() && matches!(response.outcome, Outcome::Error(_)) {
        return None;
    }
    let error = ErrorObject::invalid_request("this is a response; nothing was called over this carrier");
    Some((response.version, &response.id, error))
}

#[inline]
pub(crate) fn single(version: Version, id: &Id, outcome: Result<&Json, &ErrorObject>) -> Answer {
    // With the exact size the buffer becomes the answer as it is, without another allocation.
    let size = outcome.map_or(128, |json| codec::result_len(version, id, json));
    let mut out = Vec::with_capacity(size);
    codec::response(&mut out, version, id, outcome);
    Answer::Single(Bytes::from(out), outcome.err().map(|error| error.code))
}

/// A reply as one outcome: a stream is collected, in what is left of the time that the call may take as a whole.
pub(crate) async fn settle(reply: Reply, until: Instant, limits: &Limits) -> Result<Json, ErrorObject> {
    match reply {
        Reply::Value(json) => Ok(json),
        Reply::Error(error) => Err(error),
        // A subscription goes on until it is ended, which takes a connection (ETH-05).
        Reply::Stream(items) if items.subscription().is_some() => {
            let detail = "a subscription needs a carrier that stays open, such as WebSocket";
            Err(ErrorObject::from_code(Code::METHOD_NOT_FOUND).with_detail(detail))
        }
        Reply::Stream(items) => {
            let collected = tokio::time::timeout_at(until, collect(items, limits.reply)).await;
            collected.unwrap_or_else(|_| Err(ErrorObject::timed_out()))
        }
    }
}

pub(crate) async fn collect(mut items: Items, limit: usize) -> Result<Json, ErrorObject> {
    let mut array = vec![b'['];
    while let Some(item) = items.next().await {
        // A stream that always has an item must not keep others from theirs.
        consume_budget().await;
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
    if is_within(outcome.as_ref(), limit) { outcome } else { Err(too_large(limit)) }
}

/// Whether an outcome is no longer than this.
#[inline(always)]
pub(crate) fn is_within(outcome: Result<&Json, &ErrorObject>, limit: usize) -> bool {
    match outcome {
        Ok(json) => json.as_bytes().len() <= limit,
        Err(error) => error.data.as_ref().is_none_or(|data| data.as_bytes().len() <= limit),
    }
}

pub(crate) fn too_large(limit: usize) -> ErrorObject {
    let detail = format!("the reply has more than {limit} bytes (limits.reply)");
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail)
}

/// The failure of a notification is nobody's to hear (J2-18) but the log's.
pub(crate) fn note_lost(reply: &Reply) {
    if let Reply::Error(error) = reply {
        tracing::debug!(code = error.code.0, "a notification failed");
    }
}
