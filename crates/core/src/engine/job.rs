//! The remaining work for an answer in parts.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_core::Stream;

use crate::code::Code;
use crate::codec;
use crate::context::Version;
use crate::engine::exchange::{Answer, conclude, sealed};
use crate::engine::observed::ObservedCall;
use crate::engine::outcome::{ReplyLimit, end_of, respond, size};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::observer::End;
use crate::reply::{Items, Outcome, Reply};
use crate::session::Session;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What is still to be done.
pub(super) enum Job {
    /// All at once: a batch, or an answer that is there.
    Whole(Boxed<Answer>),
    /// A call without a reply.
    Call {
        version: Version,
        id: Option<Id>,
        reply: Boxed<Reply>,
        watch: Option<Box<ObservedCall>>,
    },
    /// A call that streams.
    Stream(Box<Streamed>),
    Done,
}

/// A stream whose items are sent as responses.
pub(super) struct Streamed {
    version: Version,
    id: Id,
    pub(super) items: Items,
    sent: u64,
    bytes: usize,
    watch: Option<Box<ObservedCall>>,
}

impl Streamed {
    /// The response with one item; and how the stream ended, if it has.
    fn write(
        &mut self,
        item: Result<&Json, &ErrorObject>,
        (limit, session): (usize, &Session),
    ) -> (Option<Given>, Option<Option<Code>>) {
        let mut out = Vec::with_capacity(size(self.version, &self.id, item));
        let limit = ReplyLimit::new(limit, session);
        let end = respond(&mut out, self.version, &self.id, item, limit);
        self.seal(&mut out, item, end);
        self.bytes += out.len();
        // A gap is written like an error, and the stream goes on.
        let goes_on = end == End::Value || item.is_err_and(|error| error.gap().is_some());
        self.sent += u64::from(end == End::Value);
        (Some(Given::Item(sealed(out, session))), (!goes_on).then_some(end.code()))
    }

    /// Adds members to the response that carries an item, if the stream has some.
    fn seal(&self, out: &mut Vec<u8>, item: Result<&Json, &ErrorObject>, end: End) {
        let (Some(seal), Ok(item), End::Value) = (self.items.seal(), item, end) else { return };
        let start = codec::result_start(self.version);
        seal.apply(out, "", start..start + item.as_bytes().len());
    }

    fn end(self, code: Option<Code>, error: Option<&ErrorObject>) {
        if let Some(watch) = self.watch {
            watch.end(End::Stream { items: self.sent, code }, error, self.bytes);
        }
    }
}

/// What a job gives.
pub(super) enum Given {
    Answer(Answer),
    Started(Id),
    Item(Bytes),
}

impl Job {
    pub(super) fn answered(answer: Answer) -> Job {
        Job::Whole(Box::pin(std::future::ready(answer)))
    }

    /// Goes on until it gives something or has to wait; nothing once it is done. A reply or an item may have so many bytes.
    pub(super) fn poll(&mut self, limit: (usize, &Session), cx: &mut Poller<'_>) -> Poll<Option<Given>> {
        match self {
            Job::Done => Poll::Ready(None),
            Job::Whole(whole) => {
                let Poll::Ready(answer) = whole.as_mut().poll(cx) else { return Poll::Pending };
                *self = Job::Done;
                Poll::Ready(Some(Given::Answer(answer)))
            }
            Job::Call { version, id, reply, watch } => {
                let Poll::Ready(reply) = reply.as_mut().poll(cx) else { return Poll::Pending };
                let (version, id, mut watch) = (*version, id.take(), watch.take());
                let given = match (reply.outcome, id) {
                    (Outcome::Stream(items), Some(id)) => {
                        let started = Given::Started(id.clone());
                        if let Some(watch) = &mut watch {
                            watch.stream();
                        }
                        let streamed = Streamed { version, id, items, sent: 0, bytes: 0, watch };
                        *self = Job::Stream(Box::new(streamed));
                        return Poll::Ready(Some(started));
                    }
                    (outcome, id) => {
                        let reply = Reply { outcome, extra: reply.extra };
                        conclude(version, id.as_ref(), reply, watch, limit)
                    }
                };
                *self = Job::Done;
                Poll::Ready(Some(Given::Answer(given)))
            }
            Job::Stream(streamed) => {
                let Poll::Ready(item) = Pin::new(&mut streamed.items).poll_next(cx) else {
                    return Poll::Pending;
                };
                let (given, end) = match &item {
                    Some(item) => streamed.write(item.as_ref(), limit),
                    None => (None, Some(None)),
                };
                if let Some(code) = end
                    && let Job::Stream(streamed) = std::mem::replace(self, Job::Done)
                {
                    streamed.end(code, item.as_ref().and_then(|item| item.as_ref().err()));
                }
                Poll::Ready(given)
            }
        }
    }

    /// Cancels a job that is still running; it ends with this error. Returns the version and the identifier of the response, or `None` if the job was done.
    pub(super) fn interrupt(&mut self, error: &ErrorObject, unsaid: Version) -> Option<(Version, Id)> {
        Some(match std::mem::replace(self, Job::Done) {
            Job::Done => return None,
            Job::Whole(_) => (unsaid, Id::NULL),
            Job::Call { version, id, watch, .. } => {
                if let Some(watch) = watch {
                    watch.end(end_of(error), Some(error), 0);
                }
                (version, id.unwrap_or(Id::NULL))
            }
            Job::Stream(streamed) => {
                let at = (streamed.version, streamed.id.clone());
                streamed.end(Some(error.code), Some(error));
                at
            }
        })
    }
}
