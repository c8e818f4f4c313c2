//! Copies of calls for a second upstream, and how its answers differ.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use switchboard_core::{Call, Context, Layer, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::sync::Semaphore;

use crate::explain::percent;

/// How many copies are on their way at once. Further calls are not copied.
const MOST: usize = 64;

/// Sends copies of calls to a second upstream, and drops its answers. They can be compared with those of the first.
///
/// Use it only for methods that are safe to call twice. A copy never delays its call. Clones share their counts.
#[derive(Clone)]
pub struct Mirror(Arc<Inner>);

struct Inner {
    to: Arc<dyn Service>,
    /// The name of the second upstream, for explanations.
    name: Box<str>,
    traffic: f64,
    has_diff: bool,
    room: Arc<Semaphore>,
    counts: MirrorCounts,
}

/// How many copies were made.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MirrorCounts {
    /// Copies whose answers were the same, if answers are compared.
    pub same: AtomicU64,
    /// Copies whose answers differed.
    pub different: AtomicU64,
    /// Calls that were not copied, because too many copies were on their way.
    pub left_out: AtomicU64,
}

impl Mirror {
    /// Copies this share of the calls.
    pub fn new(to: Arc<dyn Service>, traffic: f64) -> Mirror {
        Mirror::build(to, traffic, "a second upstream".into(), false)
    }

    fn build(to: Arc<dyn Service>, traffic: f64, name: Box<str>, has_diff: bool) -> Mirror {
        Mirror(Arc::new(Inner {
            to,
            name,
            traffic,
            has_diff,
            room: Arc::new(Semaphore::new(MOST)),
            counts: MirrorCounts::default(),
        }))
    }

    /// Compares the answers, and logs those that differ.
    #[must_use]
    pub fn with_diff(self) -> Mirror {
        Mirror::build(Arc::clone(&self.0.to), self.0.traffic, self.0.name.clone(), true)
    }

    /// Sets the name of the second upstream, for explanations.
    #[must_use]
    pub fn with_name(self, name: impl Into<Box<str>>) -> Mirror {
        Mirror::build(Arc::clone(&self.0.to), self.0.traffic, name.into(), self.0.has_diff)
    }

    /// How many copies were made.
    #[must_use]
    pub fn counts(&self) -> &MirrorCounts {
        &self.0.counts
    }
}

impl Layer for Mirror {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Mirrored { mirror: Arc::clone(&self.0), service })
    }
}

impl Explain for Mirror {
    fn name(&self) -> &'static str {
        "mirror"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let diff = if self.0.has_diff { ", and the answers are compared" } else { "" };
        let detail = format!("{} of the calls are copied to {}{diff}", percent(self.0.traffic), self.0.name);
        let (outcome, detail) = match call.is_notification() {
            true => ("not used", "notifications are not copied".to_owned()),
            false => ("on", detail),
        };
        steps.push(Step::new(self.name(), outcome, detail));
        ControlFlow::Continue(())
    }
}

struct Mirrored {
    mirror: Arc<Inner>,
    service: Arc<dyn Service>,
}

impl Service for Mirrored {
    fn call(&self, call: &Call) -> ReplyFuture {
        let reply = self.service.call(call);
        if call.is_notification() || fastrand::f64() >= self.mirror.traffic {
            return reply;
        }
        let Ok(room) = Arc::clone(&self.mirror.room).try_acquire_owned() else {
            self.mirror.counts.left_out.fetch_add(1, Ordering::Relaxed);
            return reply;
        };
        // The copy is not part of the caller's session, and does not end with its call.
        let mut copy = Call::new(call.method.clone(), call.params.clone()).with_context(Context::default());
        copy.cx.deadline = call.cx.deadline;
        let mirror = Arc::clone(&self.mirror);
        let (method, answered) = (call.method.clone(), mirror.to.call(&copy));
        let (told, first) = tokio::sync::oneshot::channel::<Option<Compared>>();
        tokio::spawn(async move {
            let second = Compared::of(&answered.await);
            drop(room);
            let (Ok(Some(first)), Some(second), true) = (first.await, second, mirror.has_diff) else {
                return;
            };
            if first.is_same(&second) {
                mirror.counts.same.fetch_add(1, Ordering::Relaxed);
            } else {
                mirror.counts.different.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(method = method.as_str(), "the mirror answered differently");
            }
        });
        let has_diff = self.mirror.has_diff;
        reply.map(move |reply| {
            let _ = told.send(if has_diff { Compared::of(&reply) } else { None });
            reply
        })
    }
}

/// An answer, as far as it is compared: results by value, errors by code.
enum Compared {
    Value(Value),
    Error(i64),
}

impl Compared {
    fn of(reply: &Reply) -> Option<Compared> {
        match &reply.outcome {
            Outcome::Value(value) => value.decode().ok().map(Compared::Value),
            Outcome::Error(error) => Some(Compared::Error(error.code.0)),
            Outcome::Stream(_) => None,
        }
    }

    fn is_same(&self, other: &Compared) -> bool {
        match (self, other) {
            (Compared::Value(one), Compared::Value(two)) => one == two,
            (Compared::Error(one), Compared::Error(two)) => one == two,
            _ => false,
        }
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { traffic, has_diff, counts, .. } = &*self.0;
        f.debug_struct("Mirror")
            .field("traffic", traffic)
            .field("has_diff", has_diff)
            .field("counts", counts)
            .finish_non_exhaustive()
    }
}
