//! Starting a call, and what can go wrong with the code that answers it: hop ③.
//!
//! Panics are caught here and nowhere else, and so is the time limit applied here and nowhere else.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Instant;

use crate::call::{Call, Members};
use crate::codec::Request;
use crate::context;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::limits::Limits;
use crate::name::Name;
use crate::reply::{Items, Reply, ReplyFuture};
use crate::service::Service;
use crate::wishes;

/// The call that a request object asks for.
#[inline(always)]
pub(crate) fn call_of(request: Request, cx: &context::Context) -> Call {
    let mut cx = cx.clone();
    cx.version = request.version;
    if let Some(members) = request.members {
        note_members(*members, request.id.as_ref(), &mut cx);
    }
    Call::received(request.method, request.params, request.id, cx)
}

/// Puts what a request says besides what it asks for into the context of its call.
pub(crate) fn note_members(members: Json, id: Option<&Id>, cx: &mut context::Context) {
    if let Some(rest) = wishes::take(members, id, cx) {
        cx.insert(Members(rest));
    }
}

/// A call under way.
pub(crate) enum Started {
    /// It is done already.
    Done(Reply),
    /// It goes on.
    Running(Running),
}

impl Started {
    /// What a service said to a call, made safe.
    #[inline(always)]
    pub(crate) fn of(call: &Call, said: ReplyFuture) -> Started {
        match said.into_ready() {
            Ok(reply) => Started::Done(guard(&call.method, reply)),
            Err(future) => {
                Started::Running(Running { method: call.method.clone(), deadline: call.cx.deadline, future })
            }
        }
    }

    /// The reply, when it is there; see [`Running::finish_by`].
    pub(crate) async fn finish_by(self, until: Instant) -> Reply {
        match self {
            Started::Done(reply) => reply,
            Started::Running(running) => running.finish_by(until).await,
        }
    }
}

/// Starts a call. Never panics, whatever the service does.
#[inline(always)]
pub(crate) fn start(service: &dyn Service, call: &Call) -> Started {
    Started::of(call, begin_call(service, call))
}

/// What a service says to a call at once. Never panics, but what is not ready may.
#[inline(always)]
pub(crate) fn begin_call(service: &dyn Service, call: &Call) -> ReplyFuture {
    // Whoever stopped waiting before the call begins has no use for it.
    if call.cx.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
        return ReplyFuture::ready(ErrorObject::timed_out());
    }
    catch_unwind(AssertUnwindSafe(|| service.call(call)))
        .unwrap_or_else(|panic| ReplyFuture::ready(crashed(&call.method, panic.as_ref())))
}

/// A call that is not done yet; dropping it cancels it.
pub(crate) struct Running {
    method: Name,
    deadline: Option<Instant>,
    future: ReplyFuture,
}

impl Running {
    /// The rest of a call that has a reply already.
    pub(crate) fn of(
        rest: impl Future<Output = Reply> + Send + 'static,
        method: Name,
        deadline: Option<Instant>,
    ) -> Running {
        Running { method, deadline, future: ReplyFuture::pending(rest) }
    }

    /// The same call with something done to its reply.
    pub(crate) fn then<F>(self, change: impl FnOnce(Running) -> F) -> Running
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let (method, deadline) = (self.method.clone(), self.deadline);
        Running::of(change(self), method, deadline)
    }

    /// Waits for the reply, but not past the caller's deadline nor longer than a call may take.
    pub(crate) async fn finish(self, limits: &Limits) -> Reply {
        let until = last_moment(self.deadline, limits);
        self.finish_by(until).await
    }

    /// Waits for the reply, but not past this moment nor the caller's deadline.
    pub(crate) async fn finish_by(self, until: Instant) -> Reply {
        let until = self.deadline.map_or(until, |deadline| deadline.min(until));
        tokio::time::timeout_at(until, self).await.unwrap_or_else(|_| Reply::Error(ErrorObject::timed_out()))
    }
}

/// When something that starts now must be done: at the caller's deadline, or after the longest time a call may take.
pub(crate) fn last_moment(deadline: Option<Instant>, limits: &Limits) -> Instant {
    let limit = moment_after(limits.call_time);
    deadline.map_or(limit, |deadline| deadline.min(limit))
}

/// The moment that comes so much later than now, or as late as clocks can tell.
pub(crate) fn moment_after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + FOR_EVER)
}

/// What stands for a time that is longer than clocks can tell.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 86_400);

impl Future for Running {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let this = &mut *self;
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.future).poll(cx))) {
            Ok(poll) => poll.map(|reply| guard(&this.method, reply)),
            Err(panic) => Poll::Ready(crashed(&this.method, panic.as_ref())),
        }
    }
}

/// Catches the panics of a streamed reply too.
#[inline]
fn guard(method: &Name, reply: Reply) -> Reply {
    match reply {
        Reply::Stream(items) => {
            Reply::Stream(items.through(|items| GuardedItems { method: method.clone(), items: Some(items) }))
        }
        other => other,
    }
}

/// A stream that ends at its first error or panic, gaps aside, whatever it says after.
struct GuardedItems {
    method: Name,
    items: Option<Items>,
}

impl Stream for GuardedItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        match catch_unwind(AssertUnwindSafe(|| Pin::new(items).poll_next(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Some(Ok(item)))) => Poll::Ready(Some(Ok(item))),
            Ok(Poll::Ready(Some(Err(error)))) if error.gap().is_some() => Poll::Ready(Some(Err(error))),
            Ok(Poll::Ready(last)) => {
                self.items = None;
                Poll::Ready(last)
            }
            Err(panic) => {
                self.items = None;
                Poll::Ready(Some(Err(crash_error(&self.method, panic.as_ref()))))
            }
        }
    }
}

fn crashed(method: &Name, panic: &(dyn Any + Send)) -> Reply {
    Reply::Error(crash_error(method, panic))
}

/// -32603 with an incident number; the log has the same number beside what happened (SEC-E-01, JK-04).
fn crash_error(method: &Name, panic: &(dyn Any + Send)) -> ErrorObject {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ErrorObject::internal(&format_args!("the method {method:?} panicked: {}", text.unwrap_or("(no text)")))
}
