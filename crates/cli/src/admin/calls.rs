//! The calls of the recent past, and those that happen.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::identity::Identity;
use switchboard::metrics::{Durations, Histogram};
use switchboard::observer::{Ended, Observer, Position, Refused};
use switchboard::{Context, ErrorObject, FromContext as _, Layer, Service, TraceContext};
use tokio::sync::broadcast;

use super::callbacks::{Callbacks, CallsBack, Expected};
use super::health::milliseconds;

/// Calls that are remembered, and that may wait for a reader.
const REMEMBERED: usize = 1_000;
/// Calls that take this long are remembered, even if they succeed and are not watched.
const SLOW: Duration = Duration::from_millis(100);
/// Callers whose calls are counted on their own.
const CALLERS: usize = 200;
/// Bytes of a text that a caller chose.
pub(super) const TEXT: usize = 200;

/// A call that has ended, or a message that was refused.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallRecord {
    /// Number of the call, from 1.
    pub(super) id: u64,
    /// When it ended, in milliseconds since 1970.
    pub(super) t: f64,
    /// First characters of the session's identifier.
    pub(super) session: String,
    /// Transport, such as http.
    pub(super) transport: &'static str,
    /// Address of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
    /// Caller, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) who: Option<String>,
    /// Method; empty if a message was refused before it could be read.
    pub(super) method: String,
    /// One of ok, error, timed-out, cancelled, panicked, too-large, abandoned, refused.
    pub(super) outcome: &'static str,
    /// Code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<i64>,
    /// How long it took, in milliseconds.
    pub(super) ms: f64,
    /// Bytes of its params.
    pub(super) bytes_in: usize,
    /// Bytes of its response.
    pub(super) bytes_out: usize,
    /// Items of its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<u64>,
    /// Number of its batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) batch: Option<u64>,
    /// Which entry of its batch it is, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<usize>,
    /// Trace that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<String>,
    /// Incident number of an internal error, which the log has too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) incident: Option<String>,
    /// Upstream that a gateway sent it to. This and the next three are known of calls that begin while calls are watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upstream: Option<String>,
    /// Server of the upstream that answered it, or that it was sent to last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// How often it was sent to a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempts: Option<u32>,
    /// What the cache did: hit, stale or miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache: Option<String>,
    /// What it called at its caller.
    #[serde(skip)]
    pub(super) callbacks: Callbacks,
}

/// Remembers calls: those that fail or are slow, and all others while they are watched. Cheap to clone.
#[derive(Clone)]
pub(super) struct Calls(Arc<Inner>);

struct Inner {
    state: Mutex<Remembered>,
    news: broadcast::Sender<Arc<CallRecord>>,
    /// How many watch. Without any, calls that succeed cost nothing.
    watching: AtomicUsize,
    expected: Expected,
}

/// Has all calls remembered as long as it lives.
pub(super) struct Watch(Calls);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.0.watching.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Remembered {
    last: u64,
    calls: VecDeque<Arc<CallRecord>>,
    transports: Vec<(String, Tally)>,
    callers: Vec<(String, Tally)>,
    upstreams: Vec<(String, Tally)>,
}

/// The calls of one kind.
#[derive(Default)]
struct Tally {
    all: Histogram,
    errors: u64,
}

impl Default for Calls {
    fn default() -> Calls {
        let (news, watching) = (broadcast::Sender::new(REMEMBERED), AtomicUsize::new(0));
        Calls(Arc::new(Inner { state: Mutex::default(), news, watching, expected: Expected::default() }))
    }
}

impl Calls {
    /// Has all calls remembered from now on.
    pub(super) fn watch(&self) -> Watch {
        self.0.watching.fetch_add(1, Ordering::Relaxed);
        Watch(self.clone())
    }

    /// Has all calls remembered for so long.
    pub(super) fn watch_for(&self, time: Duration) {
        let watch = self.watch();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            drop(watch);
        });
    }

    pub(super) fn is_watched(&self) -> bool {
        self.0.watching.load(Ordering::Relaxed) > 0
    }

    pub(super) fn expected(&self) -> &Expected {
        &self.0.expected
    }

    /// The calls so far, oldest first, and those to come. None is missing between them.
    pub(super) fn follow(&self) -> (Vec<Arc<CallRecord>>, broadcast::Receiver<Arc<CallRecord>>) {
        let state = self.lock();
        (state.calls.iter().cloned().collect(), self.0.news.subscribe())
    }

    /// A call with those of its batch, in the order of their end. None if it is too long ago.
    pub(super) fn find(&self, id: u64) -> Option<(Arc<CallRecord>, Vec<Arc<CallRecord>>)> {
        let state = self.lock();
        let found = state.calls.iter().find(|call| call.id == id).cloned()?;
        let is_related =
            |call: &&Arc<CallRecord>| call.batch.is_some() && call.batch == found.batch && call.id != id;
        let others = state.calls.iter().filter(is_related).cloned().collect();
        Some((found, others))
    }

    /// Calls and errors by transport.
    pub(super) fn by_transport(&self) -> Vec<(String, Durations, u64)> {
        tallies(&self.lock().transports)
    }

    /// Calls and errors by caller.
    pub(super) fn by_caller(&self) -> Vec<(String, Durations, u64)> {
        tallies(&self.lock().callers)
    }

    /// Calls and errors by upstream, of calls that went to one.
    pub(super) fn by_upstream(&self) -> Vec<(String, Durations, u64)> {
        tallies(&self.lock().upstreams)
    }

    fn add(&self, mut record: CallRecord, duration: Duration) {
        let is_error = record.outcome != "ok";
        let mut state = self.lock();
        state.last += 1;
        record.id = state.last;
        count(&mut state.transports, record.transport, duration, is_error);
        count(&mut state.callers, record.who.as_deref().unwrap_or("anonymous"), duration, is_error);
        if let Some(upstream) = &record.upstream {
            count(&mut state.upstreams, upstream, duration, is_error);
        }
        let record = Arc::new(record);
        if state.calls.len() == REMEMBERED {
            state.calls.pop_front();
        }
        state.calls.push_back(Arc::clone(&record));
        // Nobody may be listening.
        let _ = self.0.news.send(record);
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tallies(all: &[(String, Tally)]) -> Vec<(String, Durations, u64)> {
    all.iter().map(|(name, tally)| (name.clone(), tally.all.snapshot(), tally.errors)).collect()
}

fn count(tallies: &mut Vec<(String, Tally)>, name: &str, duration: Duration, is_error: bool) {
    let name = match tallies.len() < CALLERS || tallies.iter().any(|(known, _)| known == name) {
        true => name,
        false => switchboard::metrics::OTHER,
    };
    let at = tallies.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        tallies.push((name.to_owned(), Tally::default()));
        tallies.len() - 1
    });
    let tally = &mut tallies[at].1;
    tally.all.add(duration);
    tally.errors += u64::from(is_error);
}

impl CallRecord {
    fn new(cx: &Context, at: Position) -> CallRecord {
        let origin = cx.origin();
        let (batch, entry) = match at {
            Position::Entry { batch, index } => (Some(batch.0), Some(index)),
            _ => (None, None),
        };
        CallRecord {
            id: 0,
            t: milliseconds(SystemTime::now()),
            session: shortened(cx.session().id(), 8),
            transport: origin.transport,
            peer: origin.address.map(|address| address.to_string()),
            who: Identity::from_context(cx).map(|identity| shortened(&identity.subject, TEXT)),
            method: String::new(),
            outcome: "refused",
            code: None,
            ms: 0.0,
            bytes_in: 0,
            bytes_out: 0,
            items: None,
            batch,
            entry,
            trace: cx.trace().or_else(|| TraceContext::of(cx.metadata())).map(|trace| trace.trace_id()),
            incident: None,
            upstream: None,
            node: None,
            attempts: None,
            cache: None,
            callbacks: Callbacks::default(),
        }
    }

    /// Tells where a gateway sent it.
    fn route(&mut self) {
        let (routed, cache) = (&self.callbacks.routed, &self.callbacks.cache);
        self.upstream = routed.upstream().map(|name| name.to_string());
        self.node = routed.node().map(|name| name.to_string());
        self.attempts = Some(routed.attempts()).filter(|_| self.node.is_some());
        self.cache = cache.get().map(|said| shortened(said, TEXT)).filter(|_| self.upstream.is_some());
    }
}

impl Observer for Calls {
    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        let mut record = CallRecord::new(cx, refused.at);
        record.code = Some(refused.error.code.0);
        record.method = refused.method.map(|method| shortened(method.as_str(), TEXT)).unwrap_or_default();
        self.add(record, Duration::ZERO);
    }

    fn ended(&self, call: &Ended<'_>) {
        let callbacks = self.0.expected.take(call.cx.session(), call.id);
        let is_ordinary = call.end.word() == "ok" && call.duration < SLOW;
        if is_ordinary && !self.is_watched() {
            return;
        }
        let mut record = CallRecord::new(call.cx, call.at);
        record.method = shortened(call.method.as_str(), TEXT);
        record.outcome = call.end.word();
        record.code = call.end.failure().map(|code| code.0);
        record.ms = (call.duration.as_secs_f64() * 1e6).round() / 1e3;
        (record.bytes_in, record.bytes_out) = (call.bytes_in, call.bytes_out);
        record.items = call.end.items();
        record.incident = call.error.and_then(ErrorObject::incident);
        record.callbacks = callbacks.unwrap_or_default();
        record.route();
        self.add(record, call.duration);
    }
}

/// Notes what methods call at their callers.
impl Layer for Calls {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(CallsBack { calls: self.clone(), inner })
    }
}

/// The start of a text, of so many bytes at most.
pub(super) fn shortened(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
