//! A running call: its time limit, its panics, and its stream.
//!
//! The time limit of a call is computed and applied here and nowhere else.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Instant, timeout_at};

use crate::call::Call;
use crate::call_options::ProgressTo;
use crate::code::Code;
use crate::context::Context;
use crate::engine::cancel::CancelFlag;
use crate::engine::outcome::collect;
use crate::error::{EngineFault, ErrorObject};
use crate::json::Json;
use crate::limits::Limits;
use crate::memory::Share;
use crate::name::Name;
use crate::partial_results::{PartialTo, tell};
use crate::profile::Profile;
use crate::reply::{Items, Outcome, Reply, ReplyFuture};

/// A call in flight. Dropping it cancels it.
pub(crate) struct Running {
    method: Name,
    /// When it is cancelled and answered with -32003.
    until: Instant,
    future: ReplyFuture,
    streaming: Streaming,
    /// How many bytes a reply may have.
    limit: usize,
    cancel: Option<CancelFlag>,
}

/// What becomes of a reply that is a stream.
pub(crate) enum Streaming {
    /// It stays one. It may outlast the time of its call.
    Open,
    /// Its items are collected into one array, in the time of the call and with this memory.
    Collect(Share),
    /// Its items are sent as partial results, in the time of the call (LSP-P-05).
    Tell(Box<(ProgressTo, Context)>),
}

impl Streaming {
    /// Where nothing but one answer can be sent. The stream of a notification has no reader and is dropped.
    pub(crate) fn whole(call: &Call) -> Streaming {
        if call.is_notification() { Streaming::Open } else { Streaming::collect(call) }
    }

    /// How the streams of a duplex session are sent: as messages of the session, or as partial results where its dialect has
    /// those.
    pub(crate) fn over_session(call: &Call, profile: &Profile) -> Streaming {
        if profile.streams.partial.is_none() || call.is_notification() {
            return Streaming::Open;
        }
        match call.cx.get::<PartialTo>() {
            Some(to) => Streaming::Tell(Box::new((to.0.clone(), call.cx.clone()))),
            None => Streaming::collect(call),
        }
    }

    fn collect(call: &Call) -> Streaming {
        Streaming::Collect(call.cx.session().share())
    }
}

impl Running {
    /// The rest of a call that began with this future.
    pub(crate) fn new(call: &Call, future: ReplyFuture, streaming: Streaming, limits: &Limits) -> Running {
        let time = if future.is_untimed() { FOR_EVER } else { limits.call_time };
        let until = moment_after(time);
        let until = call.cx.deadline.map_or(until, |deadline| deadline.min(until));
        // The call, and more so its stream, may last much longer than the frame it came in.
        let method = call.method.detached();
        Running { method, until, future, streaming, limit: limits.reply, cancel: None }
    }

    /// What cancels the call.
    pub(crate) fn cancel_flag(&mut self) -> CancelFlag {
        self.cancel.get_or_insert_default().clone()
    }

    /// Lets the call do its first step. Gives the reply if nothing is left to be done.
    pub(crate) fn first_step(&mut self, cx: &mut Poller<'_>) -> Option<Reply> {
        let Poll::Ready(reply) = self.poll_reply(cx) else { return None };
        if matches!(
            (&reply.outcome, &self.streaming),
            (Outcome::Stream(_), Streaming::Collect(_) | Streaming::Tell(_))
        ) {
            self.future = ReplyFuture::ready(reply);
            return None;
        }
        Some(reply)
    }

    /// Waits for the reply, but not past the time that the call may take. A call that is cancelled drops its handler first.
    pub(crate) async fn finish(mut self) -> Reply {
        let (until, cancel) = (self.until, self.cancel.take());
        let mut work = pin!(self.work());
        let ended = poll_fn(|cx| match &cancel {
            Some(cancel) if cancel.poll(cx).is_ready() => Poll::Ready(None),
            _ => work.as_mut().poll(cx).map(Some),
        });
        match timeout_at(until, ended).await {
            Ok(Some(reply)) => reply,
            Ok(None) => ErrorObject::from_code(Code::CANCELLED).with_fault(EngineFault::Cancelled).into(),
            Err(_) => ErrorObject::timed_out().with_fault(EngineFault::TimedOut).into(),
        }
    }

    /// The reply, its stream collected or sent if it is not to stay one.
    async fn work(mut self) -> Reply {
        let reply = poll_fn(|cx| self.poll_reply(cx)).await;
        let whole = match (reply.outcome, &mut self.streaming) {
            (Outcome::Stream(items), Streaming::Collect(share)) => collect(items, self.limit, share).await,
            (Outcome::Stream(items), Streaming::Tell(to)) => tell(items, &to.0, &to.1, self.limit).await,
            (outcome, _) => return Reply { outcome, extra: reply.extra },
        };
        Reply { extra: reply.extra, ..whole.into() }
    }

    fn poll_reply(&mut self, cx: &mut Poller<'_>) -> Poll<Reply> {
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.future).poll(cx))) {
            Ok(poll) => poll.map(|reply| guard(&self.method, reply)),
            Err(panic) => Poll::Ready(crashed(&self.method, panic.as_ref())),
        }
    }
}

/// The moment that comes so much later than now, or as late as clocks can tell.
pub(crate) fn moment_after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + FOR_EVER)
}

/// The placeholder of a time that is longer than clocks can express.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Catches the panics of a streamed reply too.
fn guard(method: &Name, reply: Reply) -> Reply {
    reply
        .map_items(|items| items.through(|items| GuardedItems { method: method.clone(), items: Some(items) }))
}

/// A stream that ends at its first error or panic, gaps aside, whatever it says after.
struct GuardedItems {
    method: Name,
    items: Option<Items>,
}

impl Stream for GuardedItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<Self::Item>> {
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

#[cold]
pub(super) fn crashed(method: &Name, panic: &(dyn Any + Send)) -> Reply {
    Reply::error(crash_error(method, panic))
}

/// -32603 with an incident number; the log has the same number beside what happened (SEC-E-01, JK-04).
pub(super) fn crash_error(method: &Name, panic: &(dyn Any + Send)) -> ErrorObject {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let cause =
        format_args!("the method {method:?} panicked: {}", text.unwrap_or("(no message)")).to_string();
    ErrorObject::internal(&cause).with_fault(EngineFault::Panicked)
}
