//! Starting a call: hop ③.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::time::Instant;

use crate::call::{Call, Members};
use crate::call_options;
use crate::codec::Loaded;
use crate::engine::Engine;
use crate::engine::observed::ObservedStart;
use crate::engine::outcome::{ReplyLimit, end_of_notification, respond, size};
use crate::engine::running::crashed;
use crate::error::{EngineFault, ErrorObject};
use crate::observer::{End, Position};
use crate::partial_results;
use crate::profile::Profile;
use crate::reply::{Outcome, ReplyFuture};
use crate::service::Service;

/// How far a call outside of a batch comes without waiting.
pub(crate) enum Start {
    /// It ended, and its response is in the buffer.
    Answered(End),
    /// It ended, and is not answered.
    Silent,
    /// It has no reply yet, or one that takes time.
    Pending(ReplyFuture, Option<ObservedStart>),
}

impl Engine {
    /// Starts a call. If it is ready at once, which is the usual case and the one that must be fast, its response is
    /// written at the end of `out`.
    #[inline(always)]
    pub(crate) fn begin(&self, call: &Call, out: &mut Vec<u8>) -> Start {
        let began = self.note_begun(call, Position::Alone);
        let future = begin_call(&*self.service, call);
        let (id, outcome) = match (future.as_plain(), call.id()) {
            (Some(Outcome::Value(json)), Some(id)) => (id, Ok(json)),
            (Some(Outcome::Error(error)), Some(id)) => (id, Err(error)),
            _ => return self.begin_rest(call, future, began),
        };
        // With the exact size the buffer can become the answer as it is, without another allocation.
        out.reserve_exact(size(call.cx.version, id, outcome));
        let limit = ReplyLimit::new(self.settings.limits.reply, call.cx.session());
        let end = respond(out, call.cx.version, id, outcome, limit);
        if let Some(began) = began {
            self.note_ended(call, began, end, outcome.err(), out.len());
        }
        Start::Answered(end)
    }

    #[inline(never)]
    fn begin_rest(&self, call: &Call, future: ReplyFuture, began: Option<ObservedStart>) -> Start {
        match (future.as_ready(), call.id()) {
            (Some(reply), None) => {
                let end = end_of_notification(&reply.outcome);
                if let Some(began) = began {
                    self.note_ended(call, began, end, reply.outcome.error(), 0);
                }
                Start::Silent
            }
            _ => Start::Pending(future, began),
        }
    }
}

/// Completes a call that was decoded in place: its version, and what its request says besides what it asks for. True if
/// its context has more than that of the message now.
#[inline(always)]
pub(crate) fn complete(call: &mut Call, loaded: Loaded, profile: &Profile) -> bool {
    call.cx.version = loaded.version;
    let has_tokens = profile.progress.param.is_some() || profile.streams.partial.is_some();
    if loaded.members.is_none() && !has_tokens {
        return false;
    }
    complete_rest(call, loaded, profile);
    true
}

#[cold]
#[inline(never)]
fn complete_rest(call: &mut Call, loaded: Loaded, profile: &Profile) {
    let rest = match loaded.members {
        Some(members) if loaded.has_options => {
            let id = call.id().cloned();
            call_options::take(&members, id.as_ref(), &mut call.cx, &profile.metadata)
        }
        members => members.map(|members| *members),
    };
    if let Some(rest) = rest {
        call.cx.insert(Members(rest));
    }
    partial_results::take_tokens(call, profile);
}

/// What a service says to a call at once. Never panics, though a reply that is not ready may.
#[inline(always)]
pub(crate) fn begin_call(service: &dyn Service, call: &Call) -> ReplyFuture {
    catch_unwind(AssertUnwindSafe(|| begin_unguarded(service, call)))
        .unwrap_or_else(|panic| ReplyFuture::ready(crashed(&call.method, panic.as_ref())))
}

/// What a service says to a call at once; panics if it does.
#[inline(always)]
pub(super) fn begin_unguarded(service: &dyn Service, call: &Call) -> ReplyFuture {
    // A caller that stopped waiting before the call begins has no use for it.
    if call.cx.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
        return ReplyFuture::ready(ErrorObject::timed_out().with_fault(EngineFault::TimedOut));
    }
    service.call(call)
}
