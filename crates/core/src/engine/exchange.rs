//! One input and one answer: an HTTP POST, a request over a message queue.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;

use crate::call::Call;
use crate::code::Code;
use crate::codec::{self, Entries, Fault, Found, Message};
use crate::context::{Context, Version};
use crate::engine::Engine;
use crate::engine::batch::{Batch, Stop};
use crate::engine::begin::{Start, complete};
use crate::engine::observed::ObservedCall;
use crate::engine::outcome::{ReplyLimit, end_of_notification, refusal_of, respond_with, size};
use crate::engine::running::{Running, Streaming};
use crate::engine::running_entries::run;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::memory::SHORT;
use crate::observer::{InputKind, Position};
use crate::reply::{Extra, Outcome, Reply, ReplyFuture};
use crate::session::Session;

/// The answer over a transport with one response to each request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Nothing: there were only notifications (J2-17, J2-44).
    Nothing,
    /// One response object.
    Single {
        /// The text to send.
        body: Bytes,
        /// The code of its error, if it is one.
        code: Option<Code>,
        /// The HTTP status and headers of the reply.
        extra: Option<Box<Extra>>,
    },
    /// The responses to a batch (J2-41).
    Batch(Bytes),
}

impl Answer {
    /// The text to send, if there is any.
    #[must_use]
    pub fn body(&self) -> Option<&Bytes> {
        match self {
            Answer::Nothing => None,
            Answer::Single { body, .. } | Answer::Batch(body) => Some(body),
        }
    }

    /// The text to send, if there is any.
    #[must_use]
    pub fn into_body(self) -> Option<Bytes> {
        match self {
            Answer::Nothing => None,
            Answer::Single { body, .. } | Answer::Batch(body) => Some(body),
        }
    }

    /// One error for the input as a whole, with a `null` identifier.
    #[must_use]
    pub fn refusal(error: &ErrorObject) -> Answer {
        single(Version::V2, &Id::NULL, error)
    }
}

/// The answer to one input, which may be ready. Small, so that a transport can hold one for each request.
///
/// # Cancel safety
///
/// Dropping it cancels every unfinished call of the input.
#[must_use = "dropping the future cancels the calls"]
pub struct Exchange(ExchangeState);

enum ExchangeState {
    Done(Option<Answer>),
    Running(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Engine {
    /// Answers one input as a whole.
    ///
    /// The entries of a batch start in order and run concurrently, up to
    /// [`batch_concurrency`](crate::Limits::batch_concurrency); their responses are in the order of the entries. A notification is
    /// done before anything after it starts. A streamed reply is collected into an array.
    ///
    /// A single call starts, and may finish, before the future is polled.
    #[inline]
    pub fn exchange(&self, input: impl Into<Bytes>, cx: &Context) -> Exchange {
        let input = input.into();
        if input.len() > self.settings.limits.frame {
            return Exchange::done(self.refuse_length(cx, input.len()));
        }
        let mut call = Call::blank(cx.clone());
        let found = codec::decode_into(&input, &self.settings, &mut call);
        let Ok(Found::Call(loaded)) = found else {
            return self.exchange_other(found, cx, input.len());
        };
        complete(&mut call, loaded, &self.settings.profile);
        self.note_received(&call.cx, input.len(), InputKind::Call, None);
        drop(input);
        let mut out = Vec::new();
        match self.begin(&call, &mut out) {
            Start::Answered(end) => {
                let body = sealed(out, call.cx.session());
                Exchange::done(Answer::Single { body, code: end.code(), extra: None })
            }
            begun => self.exchange_pending(&call, begun),
        }
    }

    /// The rest of a call that was not answered at once.
    #[inline(never)]
    fn exchange_pending(&self, call: &Call, begun: Start) -> Exchange {
        let Start::Pending(future, began) = begun else { return Exchange::done(Answer::Nothing) };
        let watch = began.and_then(|began| began.watch(self, call));
        let future = match future.into_ready() {
            // There is something beside the outcome, but nothing to wait for.
            Ok(reply) if !matches!(reply.outcome, Outcome::Stream(_)) => {
                let limit = (self.settings.limits.reply, call.cx.session());
                return Exchange::done(conclude(call.cx.version, call.id(), reply, watch, limit));
            }
            Ok(reply) => ReplyFuture::ready(reply),
            Err(future) => future,
        };
        let pending = PendingCall::new(self, call, future, Streaming::whole(call), watch);
        Exchange(ExchangeState::Running(Box::pin(pending.answer())))
    }

    /// What is not a single call.
    #[inline(never)]
    fn exchange_other(&self, found: Result<Found, ErrorObject>, cx: &Context, bytes: usize) -> Exchange {
        match found {
            Ok(Found::Batch(entries)) => {
                let mut batch = self.batch(entries, cx, bytes);
                match batch.advance(|_| false) {
                    Stop::Finished if batch.is_done() => Exchange::done(batch.into_answer()),
                    stop => Exchange(ExchangeState::Running(Box::pin(run(Box::new(batch), stop)))),
                }
            }
            Ok(Found::Other(message)) => Exchange::done(self.refuse_message(&message, cx, bytes)),
            Ok(Found::Call(_)) => Exchange::done(Answer::Nothing),
            Err(error) => Exchange::done(self.refuse_input(&error, cx, bytes)),
        }
    }

    /// A batch that was received.
    pub(super) fn batch(&self, entries: Entries, cx: &Context, bytes: usize) -> Batch {
        let id = self.name_batch();
        self.note_received(cx, bytes, InputKind::Batch(entries.len()), Some(id));
        Batch::new(self.clone(), entries, cx.clone(), id)
    }

    /// Answers an input that is too long to be looked at.
    #[cold]
    pub(super) fn refuse_length(&self, cx: &Context, bytes: usize) -> Answer {
        let error = Fault::Frame(self.settings.limits.frame).into();
        self.note_received(cx, bytes, InputKind::Unreadable, None);
        self.note_refused(cx, &error, Some(&Id::NULL), Position::Alone);
        Answer::refusal(&error)
    }

    /// Answers an input of which nothing can be used.
    pub(super) fn refuse_input(&self, error: &ErrorObject, cx: &Context, bytes: usize) -> Answer {
        self.note_received(cx, bytes, InputKind::Unreadable, None);
        self.note_refused(cx, error, Some(&Id::NULL), Position::Alone);
        single(self.settings.profile.versions.unsaid(), &Id::NULL, error)
    }

    /// Answers a message that asks for no call.
    pub(super) fn refuse_message(&self, message: &Message, cx: &Context, bytes: usize) -> Answer {
        let is_response = matches!(message, Message::Response(_));
        let kind = if is_response { InputKind::Response } else { InputKind::Unreadable };
        self.note_received(cx, bytes, kind, None);
        let Some((version, id, error)) = refusal_of(message) else { return Answer::Nothing };
        self.note_refused(cx, &error, Some(id), Position::Alone);
        single(version, id, &error)
    }
}

impl Exchange {
    #[inline(always)]
    fn done(answer: Answer) -> Exchange {
        Exchange(ExchangeState::Done(Some(answer)))
    }
}

impl Future for Exchange {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Answer> {
        match &mut self.0 {
            ExchangeState::Done(answer) => {
                Poll::Ready(answer.take().expect("a finished future is not polled again"))
            }
            ExchangeState::Running(future) => future.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("is_done", &matches!(self.0, ExchangeState::Done(_))).finish()
    }
}

/// The text of an answer. What is long is counted until it is sent.
#[inline(always)]
pub(super) fn sealed(text: Vec<u8>, session: &Session) -> Bytes {
    let text = Bytes::from(text);
    if text.len() > SHORT { session.seal(text) } else { text }
}

/// One error as an answer.
pub(super) fn single(version: Version, id: &Id, error: &ErrorObject) -> Answer {
    let mut out = Vec::with_capacity(size(version, id, Err(error)));
    codec::response(&mut out, version, id, Err(error));
    Answer::Single { body: Bytes::from(out), code: Some(error.code), extra: None }
}

/// A call outside of a batch that is not done.
pub(super) struct PendingCall {
    pub(super) version: Version,
    pub(super) id: Option<Id>,
    pub(super) running: Running,
    pub(super) watch: Option<Box<ObservedCall>>,
    /// How many bytes a reply may have.
    pub(super) limit: usize,
    pub(super) session: Session,
}

impl PendingCall {
    pub(super) fn new(
        engine: &Engine,
        call: &Call,
        future: ReplyFuture,
        streaming: Streaming,
        watch: Option<Box<ObservedCall>>,
    ) -> PendingCall {
        let limits = &engine.settings.limits;
        let running = Running::new(call, future, streaming, limits);
        let id = call.id().map(Id::detached);
        let session = call.cx.session().clone();
        PendingCall { version: call.cx.version, id, running, watch, limit: limits.reply, session }
    }

    /// Waits for the answer.
    async fn answer(self) -> Answer {
        let PendingCall { version, id, running, watch, limit, session } = self;
        conclude(version, id.as_ref(), running.finish().await, watch, (limit, &session))
    }
}

/// The answer to a call of this session with this reply, which may have so many bytes.
pub(super) fn conclude(
    version: Version,
    id: Option<&Id>,
    reply: Reply,
    watch: Option<Box<ObservedCall>>,
    (limit, session): (usize, &Session),
) -> Answer {
    let (id, outcome) = match (id, &reply.outcome) {
        (Some(id), Outcome::Value(json)) => (id, Ok(json)),
        (Some(id), Outcome::Error(error)) => (id, Err(error)),
        // A stream was collected or opened before this. Only that of a notification is left, and it is dropped.
        (None, outcome) | (_, outcome @ Outcome::Stream(_)) => {
            let end = end_of_notification(outcome);
            if let Some(watch) = watch {
                watch.end(end, outcome.error(), 0);
            }
            return Answer::Nothing;
        }
    };
    let members = reply.extra.as_ref().and_then(|extra| extra.members.as_ref());
    let beside = members.map_or(0, |members| members.as_bytes().len());
    let mut out = Vec::with_capacity(size(version, id, outcome) + beside);
    let limit = ReplyLimit::new(limit, session);
    let end = respond_with(&mut out, version, id, outcome, members, limit);
    if let Some(watch) = watch {
        watch.end(end, outcome.err(), out.len());
    }
    Answer::Single { body: sealed(out, session), code: end.code(), extra: reply.extra }
}

impl Batch {
    pub(super) fn into_answer(self) -> Answer {
        self.finish()
            .map_or(Answer::Nothing, |(text, mut share)| Answer::Batch(share.seal(Bytes::from(text))))
    }
}
