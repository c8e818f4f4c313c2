//! Copies of calls for a second upstream, and how its answers differ.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use switchboard_core::{Call, CallError, Context, Layer, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::sync::{Semaphore, oneshot};

use crate::explain::percent;

/// How many copies are on their way at once. Further calls are not copied.
const MOST: usize = 64;

/// How long an answer to a copy may take.
const TIME: Duration = Duration::from_secs(30);

/// How much of the place where answers differ is logged, in characters.
const PLACE: usize = 200;

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
    counts: Arc<MirrorCounts>,
}

/// What became of copies.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MirrorCounts {
    /// Copies whose answers were the same, if answers are compared.
    pub same: AtomicU64,
    /// Copies whose answers differed.
    pub different: AtomicU64,
    /// Copies whose answers were not compared: because that is off, because the call of the caller had no answer, or because they were streams.
    pub not_compared: AtomicU64,
    /// Copies that got no answer within 30 seconds, or within the time of the caller.
    pub timed_out: AtomicU64,
    /// Calls that were not copied, because too many copies were on their way.
    pub left_out: AtomicU64,
}

impl Mirror {
    /// Copies this share of the calls.
    pub fn new(to: Arc<dyn Service>, traffic: f64) -> Mirror {
        Mirror(Arc::new(Inner {
            to,
            name: "a second upstream".into(),
            traffic,
            has_diff: false,
            room: Arc::new(Semaphore::new(MOST)),
            counts: Arc::default(),
        }))
    }

    /// Compares the answers, and logs where they differ: a JSON pointer, without values.
    #[must_use]
    pub fn with_diff(self) -> Mirror {
        self.with(|inner| inner.has_diff = true)
    }

    /// Sets the name of the second upstream, for explanations and the log.
    #[must_use]
    pub fn with_name(self, name: impl Into<Box<str>>) -> Mirror {
        self.with(|inner| inner.name = name.into())
    }

    /// Counts here, so that several mirrors can count together.
    #[must_use]
    pub fn with_counts(self, counts: Arc<MirrorCounts>) -> Mirror {
        self.with(|inner| inner.counts = counts)
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Mirror {
        let Inner { to, name, traffic, has_diff, room, counts } = &*self.0;
        let (to, room, counts) = (Arc::clone(to), Arc::clone(room), Arc::clone(counts));
        let mut inner =
            Inner { to, name: name.clone(), traffic: *traffic, has_diff: *has_diff, room, counts };
        change(&mut inner);
        Mirror(Arc::new(inner))
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
        let (mirror, method) = (Arc::clone(&self.mirror), call.method.clone());
        let answered = tokio::time::timeout(TIME, mirror.to.call(&copy));
        let (told, first) = oneshot::channel::<Option<Compared>>();
        tokio::spawn(async move {
            let second = answered.await;
            drop(room);
            mirror.note(method.as_str(), first, second.ok()).await;
        });
        let has_diff = self.mirror.has_diff;
        reply.map(move |reply| {
            let _ = told.send(if has_diff { Compared::of(&reply) } else { None });
            reply
        })
    }
}

impl Inner {
    /// Counts how a copy was answered, and compares the answers if it is to. The caller's may still be on its way.
    async fn note(&self, method: &str, first: oneshot::Receiver<Option<Compared>>, second: Option<Reply>) {
        let counts = &self.counts;
        let add = |count: &AtomicU64| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let Some(second) = second.filter(|reply| !has_timed_out(reply)) else {
            return add(&counts.timed_out);
        };
        if !self.has_diff {
            return add(&counts.not_compared);
        }
        let (Ok(Some(first)), Some(second)) = (first.await, Compared::of(&second)) else {
            return add(&counts.not_compared);
        };
        let Some(place) = first.difference(&second) else { return add(&counts.same) };
        add(&counts.different);
        let place: String = place.chars().take(PLACE).flat_map(char::escape_debug).collect();
        let method = method.escape_debug();
        tracing::warn!(%method, mirror = &*self.name, at = place, "the mirror answered differently");
    }
}

/// Whether there was no answer because there was no more time.
fn has_timed_out(reply: &Reply) -> bool {
    matches!(&reply.outcome, Outcome::Error(error) if matches!(error.local(), Some(CallError::TimedOut)))
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

    /// The place of the first difference, if there is one, as a JSON pointer into the response.
    fn difference(&self, other: &Compared) -> Option<String> {
        match (self, other) {
            (Compared::Value(one), Compared::Value(two)) => difference(one, two, "/result".to_owned()),
            (Compared::Error(one), Compared::Error(two)) => (one != two).then(|| "/error/code".to_owned()),
            _ => Some("/error".to_owned()),
        }
    }
}

fn difference(one: &Value, two: &Value, place: String) -> Option<String> {
    let inside = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let names = one.keys().chain(two.keys().filter(|name| !one.contains_key(*name)));
            names.into_iter().find_map(|name| match (one.get(name), two.get(name)) {
                (Some(one), Some(two)) => difference(one, two, inside(name)),
                _ => Some(inside(name)),
            })
        }
        (Value::Array(one), Value::Array(two)) => {
            let pairs = one.iter().zip(two).enumerate();
            let within = pairs
                .into_iter()
                .find_map(|(index, (one, two))| difference(one, two, inside(&index.to_string())));
            let first_missing = || inside(&one.len().min(two.len()).to_string());
            within.or_else(|| (one.len() != two.len()).then(first_missing))
        }
        _ => (one != two).then_some(place),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_found_by_its_place() {
        let check = |one: Value, two: Value, expected: Option<&str>| {
            assert_eq!(Compared::Value(one).difference(&Compared::Value(two)).as_deref(), expected);
        };
        check(json!({ "a": [1, 2] }), json!({ "a": [1, 2] }), None);
        check(json!({ "a": [1, 2] }), json!({ "a": [1, 3] }), Some("/result/a/1"));
        check(json!({ "a": [1, 2] }), json!({ "a": [1] }), Some("/result/a/1"));
        check(json!({ "a/b": 1 }), json!({}), Some("/result/a~1b"));
        check(json!({}), json!({ "c~": 1 }), Some("/result/c~0"));
        check(json!(1), json!("1"), Some("/result"));
        let (one, two) = (Compared::Error(-1), Compared::Error(-2));
        assert_eq!(one.difference(&two).as_deref(), Some("/error/code"));
        assert_eq!(one.difference(&Compared::Value(json!(1))).as_deref(), Some("/error"));
    }
}
