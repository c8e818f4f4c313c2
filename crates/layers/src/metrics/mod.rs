//! Numbers about calls, sessions and messages, for Prometheus and other collectors.
//!
//! [`Metrics`] is an [observer](switchboard_core::observer::Observer), so it counts what callers got. [`Metrics::render`] writes everything in the
//! text format of Prometheus:
//!
//! | name | labels | |
//! |---|---|---|
//! | `rpc_server_call_duration_seconds` | `rpc_method`, `rpc_status_code`, `error_type`, `rpc_system_name` | histogram of calls, named as OpenTelemetry does |
//! | `switchboard_calls_in_flight` | | calls that have not ended |
//! | `switchboard_streams_open` | | streams that have not ended |
//! | `switchboard_stream_items_total` | | items sent in streams that have ended |
//! | `switchboard_sessions_open`, `switchboard_sessions_total` | `transport` | connections and other sessions |
//! | `switchboard_messages_received_total` | `kind` | messages: call, batch, response or unreadable |
//! | `switchboard_received_bytes_total`, `switchboard_sent_bytes_total` | | bytes of messages, and of responses and items |
//! | `switchboard_refused_total` | `reason` | messages that were refused before they became calls |
//! | `switchboard_security_events_total` | `event` | events of the [audit log](crate::audit), whether or not it is written |
//!
//! Names that callers choose never become labels: calls of methods that neither [`Metrics::new`] nor [`Metrics::follow`] was told count as
//! `_OTHER`. So the number of series is bounded, whatever callers send.

mod histogram;
#[cfg(feature = "metrics-otel")]
mod otel;
mod render;
mod series;

use std::array;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use switchboard_core::observer::{Begun, End, Ended, InputKind, Observer, Received, Refused};
use switchboard_core::{Code, Context, EndReason, Origin, Session};

pub use self::histogram::{Durations, Histogram};
#[cfg(feature = "metrics-otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics-otel")))]
pub use self::otel::MeteredCalls;
pub use self::series::CallOutcome;
use self::series::Series;
use crate::audit::{Audit, AuditKind};
use crate::hashing::{SecretHashing, secret_hashing};

/// The method of calls whose method is not known, and the code of errors beyond those that are counted.
pub const OTHER: &str = "_OTHER";
/// The kinds of messages.
const KINDS: [&str; 4] = ["call", "batch", "response", "unreadable"];
/// Transports that are told apart. The names come from transports, not from callers; the limit is for those that make them up.
const TRANSPORTS: usize = 16;

/// Methods that may become known later. Servers behind a gateway may describe new ones without end.
const LATE: usize = 4096;

/// The numbers of each method by its name.
type Methods<S> = HashMap<Box<[u8]>, S, SecretHashing>;

/// Counts calls, sessions and messages. Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{Context, Engine, ErrorObject, Router, Settings};
/// use switchboard_layers::metrics::Metrics;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let metrics = Metrics::of(&router);
/// let engine = Engine::new(Arc::new(router), Settings::default().with_observer(Some(metrics.clone().into())));
/// engine.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#, &Context::default()).await;
/// assert!(metrics.render().contains(r#"rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="add"} 1"#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    methods: Methods<Series>,
    /// Methods that became known later. Apart from the others, so that calls of those pay nothing for it.
    late: ArcSwapOption<Methods<Arc<Series>>>,
    other: Series,
    begun: AtomicU64,
    ended: AtomicU64,
    streams: AtomicI64,
    items: AtomicU64,
    /// By [kind](KINDS).
    messages: [AtomicU64; KINDS.len()],
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    refused: Mutex<Vec<(&'static str, u64)>>,
    sessions: Mutex<Vec<(&'static str, Sessions)>>,
    audit: Audit,
    families: Vec<Family>,
}

/// The labels of a number, by their names. Values must not be chosen by callers, or they could add series.
pub type Labels = Vec<(&'static str, String)>;

/// Numbers of one name that are read when they are asked for.
struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    read: Box<dyn Fn() -> Vec<(Labels, f64)> + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    /// Always 1, for the sake of its labels.
    Info,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sessions {
    opened: u64,
    closed: u64,
}

/// All numbers at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// Calls by method and outcome; only what occurred. Calls of other methods are the last, as [`OTHER`].
    pub methods: Vec<(String, Vec<(CallOutcome, Durations)>)>,
    /// Calls that have not ended.
    pub in_flight: u64,
    /// Streams that have not ended.
    pub streams: u64,
    /// Items of streams that have ended.
    pub items: u64,
    /// Sessions by transport: open ones, and all that ever opened.
    pub sessions: Vec<(&'static str, u64, u64)>,
    /// Messages by kind.
    pub messages: [(&'static str, u64); 4],
    /// Bytes of messages received.
    pub bytes_in: u64,
    /// Bytes of responses and items sent.
    pub bytes_out: u64,
    /// Refused messages by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Security events by kind.
    pub security: Vec<(&'static str, u64)>,
}

impl Metrics {
    /// Counts calls of these methods each on their own, and those of all others together.
    #[must_use]
    pub fn new<N: AsRef<str>>(methods: impl IntoIterator<Item = N>) -> Metrics {
        let mut known = Methods::with_hasher(secret_hashing());
        known.extend(methods.into_iter().map(|name| (name.as_ref().as_bytes().into(), Series::default())));
        Metrics(Arc::new(Inner {
            methods: known,
            late: ArcSwapOption::empty(),
            other: Series::default(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            streams: AtomicI64::new(0),
            items: AtomicU64::new(0),
            messages: [const { AtomicU64::new(0) }; KINDS.len()],
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            refused: Mutex::default(),
            sessions: Mutex::default(),
            audit: Audit::default(),
            families: Vec::new(),
        }))
    }

    /// Counts calls of each method that this service describes on their own.
    #[must_use]
    pub fn of(router: &switchboard_core::Router) -> Metrics {
        Metrics::new(router.describe().methods.iter().map(|method| &method.name))
    }

    /// From now on counts calls of these methods on their own, too, such as those of a server that has just described itself. Methods that
    /// are gone keep their numbers. Beyond 4096 methods that were added, further ones count as [`OTHER`].
    pub fn follow<N: AsRef<str>>(&self, methods: impl IntoIterator<Item = N>) {
        let names: Vec<N> = methods.into_iter().collect();
        self.0.late.rcu(|late| {
            let is_new = |name: &&[u8]| {
                let is_late = late.as_ref().is_some_and(|late| late.contains_key(*name));
                !is_late && !self.0.methods.contains_key(*name)
            };
            let room = LATE - late.as_ref().map_or(0, |late| late.len());
            let mut new =
                names.iter().map(|name| name.as_ref().as_bytes()).filter(is_new).take(room).peekable();
            if new.peek().is_none() {
                return late.clone();
            }
            let mut all = match late {
                Some(late) => (**late).clone(),
                None => Methods::with_hasher(secret_hashing()),
            };
            all.extend(new.map(|name| (name.into(), Arc::default())));
            Some(Arc::new(all))
        });
    }

    /// Also writes the number of security events of this audit log.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Metrics {
        self.change(|inner| inner.audit = audit)
    }

    /// Also writes a number that goes up and down, and is read when it is asked for.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_gauge(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Metrics {
        self.with_gauges(name, help, move || vec![(Labels::new(), read())])
    }

    /// The same of several numbers, which their labels tell apart.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_gauges(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<(Labels, f64)> + Send + Sync + 'static,
    ) -> Metrics {
        self.with_family(Family { name, help, kind: Kind::Gauge, read: Box::new(read) })
    }

    /// Also writes a number that only goes up, and is read when it is asked for.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_counter(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Metrics {
        self.with_counters(name, help, move || vec![(Labels::new(), read())])
    }

    /// The same of several numbers, which their labels tell apart.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_counters(
        self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<(Labels, f64)> + Send + Sync + 'static,
    ) -> Metrics {
        self.with_family(Family { name, help, kind: Kind::Counter, read: Box::new(read) })
    }

    /// Also writes a number that is always 1, for the sake of its labels.
    ///
    /// # Panics
    ///
    /// If the metrics are already shared.
    #[must_use]
    pub fn with_info(
        self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
    ) -> Metrics {
        let labels: Labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let read = Box::new(move || vec![(labels.clone(), 1.0)]);
        self.with_family(Family { name, help, kind: Kind::Info, read })
    }

    fn with_family(self, family: Family) -> Metrics {
        self.change(|inner| inner.families.push(family))
    }

    fn change(mut self, change: impl FnOnce(&mut Inner)) -> Metrics {
        change(Arc::get_mut(&mut self.0).expect("metrics are completed before they are shared"));
        self
    }

    /// Whether calls of this method are counted on their own.
    #[must_use]
    pub fn knows(&self, method: &[u8]) -> bool {
        let is_late = || self.0.late.load().as_ref().is_some_and(|late| late.contains_key(method));
        self.0.methods.contains_key(method) || is_late()
    }

    /// Everything in the text format of Prometheus, whose media type is [`MEDIA_TYPE`](Metrics::MEDIA_TYPE).
    #[must_use]
    pub fn render(&self) -> String {
        render::render(&self.snapshot(), &self.0.families)
    }

    /// The media type of [`render`](Metrics::render).
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// All numbers now. They are read one by one while calls go on, so they may differ by the calls of that moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let inner = &*self.0;
        let late = inner.late.load();
        let mut methods: Vec<_> = inner
            .methods
            .iter()
            .chain(late.iter().flat_map(|late| late.iter().map(|(name, series)| (name, &**series))))
            .map(|(name, series)| (String::from_utf8_lossy(name).into_owned(), series.snapshot()))
            .collect();
        methods.sort_by(|(one, _), (other, _)| one.cmp(other));
        methods.push((OTHER.to_owned(), inner.other.snapshot()));
        methods.retain(|(_, outcomes)| !outcomes.is_empty());
        // First the calls that have ended, so that the difference is not negative.
        let ended = inner.ended.load(Relaxed);
        Snapshot {
            methods,
            in_flight: inner.begun.load(Relaxed).saturating_sub(ended),
            streams: u64::try_from(inner.streams.load(Relaxed)).unwrap_or(0),
            items: inner.items.load(Relaxed),
            sessions: lock(&inner.sessions)
                .iter()
                .map(|(transport, each)| (*transport, each.opened.saturating_sub(each.closed), each.opened))
                .collect(),
            messages: array::from_fn(|kind| (KINDS[kind], inner.messages[kind].load(Relaxed))),
            bytes_in: inner.bytes_in.load(Relaxed),
            bytes_out: inner.bytes_out.load(Relaxed),
            refused: lock(&inner.refused).clone(),
            security: AuditKind::ALL.iter().map(|kind| (kind.0, inner.audit.count(*kind))).collect(),
        }
    }

    fn with_sessions(&self, transport: &'static str, change: impl FnOnce(&mut Sessions)) {
        change(entry(&mut lock(&self.0.sessions), transport, TRANSPORTS));
    }
}

impl Observer for Metrics {
    fn opened(&self, session: &Session) {
        self.with_sessions(session.origin().transport, |sessions| sessions.opened += 1);
    }

    fn closed(&self, _: &str, origin: &Origin, _: &EndReason) {
        self.with_sessions(origin.transport, |sessions| sessions.closed += 1);
    }

    fn received(&self, _: &Context, message: &Received) {
        let kind = match message.kind {
            InputKind::Call => 0,
            InputKind::Batch(_) => 1,
            InputKind::Response => 2,
            _ => 3,
        };
        self.0.messages[kind].fetch_add(1, Relaxed);
        self.0.bytes_in.fetch_add(message.bytes as u64, Relaxed);
    }

    fn refused(&self, _: &Context, refused: &Refused<'_>) {
        *entry(&mut lock(&self.0.refused), reason(refused), usize::MAX) += 1;
    }

    fn begun(&self, _: &Begun<'_>) {
        self.0.begun.fetch_add(1, Relaxed);
    }

    fn streaming(&self, _: &Begun<'_>) {
        self.0.streams.fetch_add(1, Relaxed);
    }

    fn ended(&self, call: &Ended<'_>) {
        let inner = &*self.0;
        if call.is_stream {
            inner.streams.fetch_sub(1, Relaxed);
        }
        if let End::Stream { items, .. } = call.end {
            inner.items.fetch_add(items, Relaxed);
        }
        inner.bytes_out.fetch_add(call.bytes_out as u64, Relaxed);
        let (name, outcome) = (call.method.as_bytes(), CallOutcome::of(call.end));
        match inner.methods.get(name) {
            Some(series) => series.add(outcome, call.duration),
            None => inner.add_late(name, outcome, call.duration),
        }
        inner.ended.fetch_add(1, Relaxed);
    }
}

impl Inner {
    /// Counts a call of a method that was not known at first.
    fn add_late(&self, method: &[u8], outcome: CallOutcome, duration: Duration) {
        let late = self.late.load();
        let series = late.as_ref().and_then(|late| late.get(method));
        series.map_or(&self.other, |series| &**series).add(outcome, duration);
    }
}

/// Why a message was refused, in one of a few words.
fn reason(refused: &Refused<'_>) -> &'static str {
    match (refused.status, refused.error.code) {
        (Some(401), _) | (_, Code::UNAUTHORIZED) => "unauthorized",
        (Some(403), _) => "forbidden",
        (Some(404), _) => "not_found",
        (Some(408), _) | (_, Code::TIMED_OUT) => "timeout",
        (Some(413 | 414 | 431), _) => "too_large",
        (Some(415), _) => "media_type",
        (Some(429), _) | (_, Code::OVER_LIMIT) => "limit",
        (_, Code::SHUTTING_DOWN) => "shutting_down",
        (_, Code::PARSE_ERROR) => "parse_error",
        (_, Code::INVALID_PARAMS) => "invalid_params",
        (_, Code::INVALID_REQUEST) => "invalid_request",
        (_, Code::INTERNAL_ERROR) => "internal_error",
        _ => "other",
    }
}

/// The value of this key, which is added if it is missing. Beyond the limit, all further keys share one value.
fn entry<'a, V: Default>(
    values: &'a mut Vec<(&'static str, V)>,
    key: &'static str,
    limit: usize,
) -> &'a mut V {
    let key = match values.iter().any(|(known, _)| *known == key) || values.len() < limit {
        true => key,
        false => OTHER,
    };
    let at = values.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        values.push((key, V::default()));
        values.len() - 1
    });
    &mut values[at].1
}

fn lock<T>(values: &Mutex<T>) -> MutexGuard<'_, T> {
    values.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("methods", &self.0.methods.len()).finish_non_exhaustive()
    }
}
