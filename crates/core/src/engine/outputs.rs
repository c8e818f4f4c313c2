//! One input and its answer in parts: an event stream over HTTP.
//!
//! It is an [`Exchange`](crate::Exchange) with two differences. Each item of a streamed reply is a message, a response with the identifier of the call, pulled when the transport asks for the next. And a handler
//! can push notifications through [`Context::peer`]: they are sent before anything the handler returns after them.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_core::Stream;

use crate::call::{Call, StreamWanted};
use crate::code::Code;
use crate::codec::{self, Entries, Found, Message};
use crate::context::{Context, Version};
use crate::engine::Engine;
use crate::engine::begin::{Start, complete};
use crate::engine::cancel::CancelFlag;
use crate::engine::exchange::{Answer, PendingCall, conclude, sealed, single};
use crate::engine::job::{Given, Job};
use crate::engine::outlet::{Outlet, Pusher};
use crate::engine::running::Streaming;
use crate::engine::running_entries::run;
use crate::engine::session_inputs::inputs;
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::observer::{InputKind, Position};
use crate::peer::Peer;
use crate::reply::Reply;
use crate::session::{RunningGuard, Session};
use crate::subscription::Subscription;

/// How an answer in parts is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// In parts, even if there is only one.
    Parts,
    /// As a whole, unless something is pushed or streamed before the answer is ready: then in parts.
    Either {
        /// Whether a method that can return one value or a stream should stream.
        wants_stream: bool,
    },
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The call with this identifier returned a stream, whose items follow. Sent once, before the first item, and
    /// never for a plain result.
    Started(Id),
    /// One message, and why it is sent.
    Message(Bytes, Cause),
}

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// It answers the input: a response, an item of a stream, or the responses to a batch.
    Answer,
    /// A handler sent it while processing the input.
    During,
}

/// The form of the answer to an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum First {
    /// The whole answer.
    Whole(Answer),
    /// It arrives in parts.
    Parts,
}

impl Engine {
    /// Answers one input with a stream of messages, or as a whole; see [`Delivery`].
    ///
    /// - A streamed reply becomes one response for each item, all with the call's identifier. An error is a response too, and
    ///   the last one. An item may be as long as a [`reply`](crate::Limits::reply).
    /// - A plain reply becomes one response.
    /// - A batch becomes one message, the array of its responses, as in [`exchange`](Engine::exchange); streams in it are
    ///   collected.
    /// - Notifications that a handler sends with [`notify`](Peer::notify) come before its reply, or between the items. When half of
    ///   [`outbox`](crate::Limits::outbox) is waiting to be read, `notify` waits. Calls to the caller fail with
    ///   [`Unsupported`](crate::CallError::Unsupported), because it cannot respond here, except in a
    ///   [session of many inputs](crate::Session::stateful).
    ///
    /// [`call_time`](crate::Limits::call_time) limits how long the reply may take. A stream may last longer.
    ///
    /// A single call starts, and may finish, before the stream is polled.
    pub fn outputs(&self, input: impl Into<Bytes>, cx: &Context, delivery: Delivery) -> Outputs {
        let input = input.into();
        if input.len() > self.settings.limits.frame {
            let refusal = self.refuse_length(cx, input.len());
            return Outputs::new(self, Job::answered(refusal), None, delivery, cx);
        }
        let mut call = Call::blank(cx.clone());
        let job = match codec::decode_into(&input, &self.settings, &mut call) {
            Ok(Found::Call(loaded)) => {
                complete(&mut call, loaded, &self.settings.profile);
                self.note_received(&call.cx, input.len(), InputKind::Call, None);
                drop(input);
                match inputs(&call.cx) {
                    Some(inputs) if self.is_for_session(inputs, &call) => {
                        let result = self.take_for_session(inputs, &call);
                        Job::answered(conclude(
                            call.cx.version,
                            call.id(),
                            Reply::value(result),
                            None,
                            (usize::MAX, cx.session()),
                        ))
                    }
                    _ => return self.begin_outputs(&mut call, delivery),
                }
            }
            Ok(Found::Batch(entries)) => return self.batch_outputs(entries, cx, input.len(), delivery),
            Ok(Found::Other(message)) => match (inputs(cx), *message) {
                (Some(inputs), Message::Response(response)) => {
                    self.note_received(cx, input.len(), InputKind::Response, None);
                    inputs.remote.complete(response);
                    Job::answered(Answer::Nothing)
                }
                (_, message) => Job::answered(self.refuse_message(&message, cx, input.len())),
            },
            Err(error) => Job::answered(self.refuse_input(&error, cx, input.len())),
        };
        Outputs::new(self, job, None, delivery, cx)
    }

    /// Starts a single call or notification.
    fn begin_outputs(&self, call: &mut Call, delivery: Delivery) -> Outputs {
        if let Some(error) = self.refusal(&call.cx) {
            self.note_refused_call(call, &error, Position::Alone);
            let limit = (usize::MAX, call.cx.session());
            let answer = conclude(call.cx.version, call.id(), error.into(), None, limit);
            return Outputs::new(self, Job::answered(answer), None, delivery, &call.cx);
        }
        let outlet = (!call.is_notification()).then(|| self.outlet(call.cx.version, &mut call.cx));
        if outlet.is_some() && matches!(delivery, Delivery::Parts | Delivery::Either { wants_stream: true }) {
            call.cx.insert(StreamWanted);
        }
        let (mut out, mut cancel) = (Vec::new(), None);
        let job = match self.begin(call, &mut out) {
            Start::Answered(end) => {
                let body = sealed(out, call.cx.session());
                Job::answered(Answer::Single { body, code: end.code(), extra: None })
            }
            Start::Silent => Job::answered(Answer::Nothing),
            Start::Pending(future, began) => {
                let watch = began.and_then(|began| began.watch(self, call));
                let PendingCall { version, id, mut running, watch, .. } =
                    PendingCall::new(self, call, future, Streaming::Open, watch);
                cancel = self.register(call, &mut running).map(|guard| (running.cancel_flag(), guard));
                Job::Call { version, id, reply: Box::pin(running.finish()), watch }
            }
        };
        let mut outputs = Outputs::new(self, job, outlet, delivery, &call.cx);
        outputs.cancel = cancel;
        outputs
    }

    fn batch_outputs(&self, entries: Entries, cx: &Context, bytes: usize, delivery: Delivery) -> Outputs {
        let mut cx = cx.clone();
        let is_answered = entries.iter().any(|entry| is_answered(&entry));
        let outlet = is_answered.then(|| self.outlet(Version::V2, &mut cx));
        let mut batch = Box::new(self.batch(entries, &cx, bytes));
        if let Some(error) = self.refusal(&cx) {
            return Outputs::new(self, Job::answered(batch.refuse_calls(&error)), None, delivery, &cx);
        }
        let stop = batch.advance_in_session();
        Outputs::new(self, Job::Whole(Box::pin(run(batch, stop))), outlet, delivery, &cx)
    }

    /// An outlet that handlers with this context push into.
    fn outlet(&self, version: Version, cx: &mut Context) -> Arc<Outlet> {
        let outlet = Outlet::new(version, self.settings.limits.outbox / 2, cx.session().account().cloned());
        let peer = match inputs(cx) {
            Some(inputs) => inputs.peer_within(&outlet),
            None => Peer::new(Pusher(Arc::clone(&outlet))),
        };
        *cx = cx.clone().with_peer(peer);
        outlet
    }
}

fn is_answered(entry: &Message) -> bool {
    match entry {
        Message::Request(request) => request.id.is_some(),
        Message::Invalid(invalid) => invalid.id.is_some(),
        Message::Response(_) => true,
    }
}

/// The answer to one input, in parts. Made by [`Engine::outputs`].
///
/// Nothing runs and no item is pulled unless it is polled.
///
/// # Cancel safety
///
/// Dropping it cancels every unfinished call of the input.
#[must_use = "dropping the stream cancels the calls"]
pub struct Outputs {
    engine: Engine,
    session: Session,
    job: Job,
    delivery: Delivery,
    /// The latest output of the job. Anything pushed before it goes out first.
    given: Option<Given>,
    /// None if nothing can be pushed.
    outlet: Option<Arc<Outlet>>,
    /// Lets a message of the session cancel it.
    cancel: Option<(CancelFlag, RunningGuard)>,
}

impl Outputs {
    fn new(
        engine: &Engine,
        job: Job,
        outlet: Option<Arc<Outlet>>,
        delivery: Delivery,
        cx: &Context,
    ) -> Outputs {
        let (engine, session) = (engine.clone(), cx.session().clone());
        Outputs { engine, session, job, delivery, given: None, outlet, cancel: None }
    }

    /// Waits until it is known whether the answer is delivered as a whole or in parts. With [`Delivery::Parts`] it is a whole only
    /// if there is nothing to answer, because the input had only notifications; they are done then.
    pub async fn first(&mut self) -> First {
        if self.delivery == Delivery::Parts && self.outlet.is_some() {
            return First::Parts;
        }
        poll_fn(|cx| self.poll_first(cx)).await
    }

    fn poll_first(&mut self, cx: &mut Poller<'_>) -> Poll<First> {
        if let Some(outlet) = &self.outlet {
            outlet.register(cx);
        }
        if self.given.is_none() {
            match self.poll_job(cx) {
                Poll::Ready(given) => self.given = Some(given.unwrap_or(Given::Answer(Answer::Nothing))),
                Poll::Pending if self.has_pushed() => return Poll::Ready(First::Parts),
                Poll::Pending => return Poll::Pending,
            }
        }
        let is_whole = self.delivery != Delivery::Parts || !self.is_in_parts();
        if is_whole && matches!(self.given, Some(Given::Answer(_))) {
            // Nothing is pushed from here on that would not be seen.
            self.close();
        }
        match self.given.take() {
            Some(Given::Answer(answer)) if is_whole && !self.has_pushed() => {
                Poll::Ready(First::Whole(answer))
            }
            given => {
                self.given = given;
                Poll::Ready(First::Parts)
            }
        }
    }

    /// Whether there is an answer that is to come in parts.
    fn is_in_parts(&self) -> bool {
        !matches!(&self.given, Some(Given::Answer(Answer::Nothing)))
    }

    fn has_pushed(&self) -> bool {
        self.outlet.as_ref().is_some_and(|outlet| !outlet.is_empty())
    }

    /// Goes on with what is to be done, unless a message of the session has cancelled it.
    fn poll_job(&mut self, cx: &mut Poller<'_>) -> Poll<Option<Given>> {
        let is_cancelled = self.cancel.as_ref().is_some_and(|(flag, _)| flag.poll(cx).is_ready());
        if is_cancelled && !matches!(self.job, Job::Done) {
            let code = self.engine.settings.profile.cancel.answer;
            let error = ErrorObject::from_code(code.unwrap_or(Code::CANCELLED));
            self.interrupt(&error.with_fault(EngineFault::Cancelled));
            return Poll::Ready(self.given.take().filter(|_| code.is_some()));
        }
        let given = self.job.poll((self.engine.settings.limits.reply, &self.session), cx);
        if matches!(self.job, Job::Done) {
            self.cancel = None;
        }
        given
    }

    /// Whether the call has returned a stream whose items are being sent, and none is held back.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        matches!(self.job, Job::Stream(_)) && self.given.is_none()
    }

    /// The method names of the stream whose items are being sent, if not the default ones.
    #[must_use]
    pub fn stream_names(&self) -> Option<&Subscription> {
        let Job::Stream(streamed) = &self.job else { return None };
        streamed.items.subscription().map(|names| &**names)
    }

    /// Cancels the unfinished calls, and answers them with this error. Pushed messages are still sent.
    pub fn interrupt(&mut self, error: &ErrorObject) {
        let unsaid = self.engine.settings.profile.versions.unsaid();
        let Some((version, id)) = self.job.interrupt(error, unsaid) else { return };
        self.close();
        self.cancel = None;
        self.given = Some(Given::Answer(single(version, &id, error)));
    }

    fn close(&self) {
        if let Some(outlet) = &self.outlet {
            outlet.close();
        }
    }

    fn pop(&self) -> Option<Output> {
        let message = self.outlet.as_ref()?.pop()?;
        Some(Output::Message(message, Cause::During))
    }
}

impl Stream for Outputs {
    type Item = Output;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<Output>> {
        let this = self.get_mut();
        if let Some(outlet) = &this.outlet {
            outlet.register(cx);
        }
        loop {
            if let Some(message) = this.pop() {
                return Poll::Ready(Some(message));
            }
            match this.given.take() {
                Some(Given::Started(id)) => return Poll::Ready(Some(Output::Started(id))),
                Some(Given::Item(text)) => return Poll::Ready(Some(Output::Message(text, Cause::Answer))),
                Some(Given::Answer(answer)) => {
                    if let Some(text) = answer.into_body() {
                        return Poll::Ready(Some(Output::Message(text, Cause::Answer)));
                    }
                }
                None => {}
            }
            if matches!(this.job, Job::Done) {
                // A handler that still has the peer gets an error from here on. What it pushed before is not lost.
                this.close();
                return Poll::Ready(this.pop());
            }
            match this.poll_job(cx) {
                Poll::Ready(given) => this.given = given,
                Poll::Pending => {
                    return match this.pop() {
                        Some(message) => Poll::Ready(Some(message)),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").field("is_done", &matches!(self.job, Job::Done)).finish_non_exhaustive()
    }
}
