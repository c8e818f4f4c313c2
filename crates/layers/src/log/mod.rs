//! The call log: one line for each call, batch and refused message.
//!
//! [`CallLog`] is an [observer](switchboard_core::observer::Observer), so a line says what the caller got: a call that took too long is
//! `timed-out`, even if its method succeeds later. Lines are queued and written by a thread, so calls never wait for the log. Lines
//! that find the queue full are dropped, and a later line says how many.
//!
//! ```json
//! {"time":"2026-11-17T10:43:02.117Z","level":"info","event":"call","outcome":"ok","method":"add","id":1,"ms":0.184,"bytesIn":5,
//!  "bytesOut":36,"who":"alice","transport":"http","peer":"192.0.2.7:50123","session":"5c9e01ab","batch":3,"entry":0,
//!  "trace":"4bf92f3577b34da6a3ce929d0e0e4736"}
//! ```
//!
//! - A line never has params, results, metadata or credentials, unless [`CallLog::bodies`] writes them. Texts that callers choose are truncated, and a line is ASCII, so nothing
//!   in it can pass for another line or control a terminal.
//! - A batch has a line when it arrives, and one for each entry. They have the same `batch`.
//! - Failures that are equal (the same caller, method and code) are written five times in ten seconds. Then one line has the number of
//!   further ones as `repeated`.

mod bodies;
mod json;
mod level;
mod pretty;
mod record;
mod time;

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use switchboard_core::observer::{Ended, InputKind, Observer, Received, Refused};
use switchboard_core::{Context, EndReason, ErrorObject, Origin, Session};

pub use self::bodies::{BodyLog, BodyRules};
pub use self::level::{LogLevel, LogLevelError};
use self::record::{Event, Record};
use crate::Pattern;
use crate::lines::{Flood, FloodVerdict, LineQueue, LogFile, Repeatable, Takes, since_1970, stderr};

/// The most bytes that wait to be written.
const ROOM: usize = 4 << 20;

/// Writes a line for each call. Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::time::Duration;
/// use switchboard_core::{Context, Engine, Router, Settings};
/// use switchboard_layers::log::CallLog;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (lines, received) = mpsc::channel();
/// let log = CallLog::builder().into_fn(move |line| lines.send(line.to_owned()).unwrap())?;
/// let settings = Settings::default().with_observer(Some(log.clone().into()));
/// let engine = Engine::new(Arc::new(Router::builder().build()?), settings);
/// engine.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, &Context::default()).await;
/// log.flush(Duration::from_secs(10));
/// assert!(received.try_recv()?.contains(r#""outcome":"error","code":-32601,"method":"nothing","id":1"#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CallLog(Arc<Inner>);

struct Inner {
    options: CallLogBuilder,
    /// The level of methods without another one, which can change.
    level: AtomicU8,
    /// Levels of methods that were set since, and whether there are any.
    overrides: RwLock<Vec<(Pattern, LogLevel)>>,
    has_overrides: AtomicBool,
    lines: LineQueue,
    flood: Arc<Mutex<Flood<LineKind>>>,
    /// How many calls could have been written, for sampling.
    calls: AtomicU64,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogFormat {
    /// JSON, for programs.
    #[default]
    Json,
    /// Columns, for people.
    Pretty,
    /// Columns with colours, for people at a terminal.
    Coloured,
}

impl LogFormat {
    /// Adds the line of a record.
    #[inline(always)]
    fn push(self, lines: &mut Vec<u8>, record: &Record<'_>, time: Duration) {
        if self == LogFormat::Json {
            return json::push_line(lines, record, time);
        }
        let mut line = String::new();
        pretty::push_line(&mut line, record, time, self == LogFormat::Coloured);
        lines.extend_from_slice(line.as_bytes());
    }
}

/// What equal lines have in common.
type LineKind = (Event, LogFormat);

/// How a [`CallLog`] is started.
#[derive(Clone, Debug)]
pub struct CallLogBuilder {
    level: LogLevel,
    levels: Vec<(Pattern, LogLevel)>,
    slow: Option<Duration>,
    sample: f64,
    format: LogFormat,
}

impl CallLog {
    /// A log of every call, as JSON.
    #[must_use]
    pub fn builder() -> CallLogBuilder {
        CallLogBuilder {
            level: LogLevel::Info,
            levels: Vec::new(),
            slow: None,
            sample: 1.0,
            format: LogFormat::Json,
        }
    }

    /// The level of methods without another one.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        LogLevel::from_number(self.0.level.load(Ordering::Relaxed))
    }

    /// Changes that level.
    pub fn set_level(&self, level: LogLevel) {
        self.0.level.store(level as u8, Ordering::Relaxed);
    }

    /// Gives methods another level, until it is set to `None`. The last one that was set counts.
    pub fn set_level_of(&self, methods: Pattern, level: Option<LogLevel>) {
        let mut overrides = self.0.overrides.write().unwrap_or_else(PoisonError::into_inner);
        overrides.retain(|(known, _)| *known != methods);
        if let Some(level) = level {
            overrides.insert(0, (methods, level));
        }
        self.0.has_overrides.store(!overrides.is_empty(), Ordering::Relaxed);
    }

    /// Writes what is queued, and the sums of repeated lines, but waits no longer than this.
    pub fn flush(&self, patience: Duration) {
        let sums = lock(&self.0.flood).take_sums::<Line<'_>>();
        if !sums.is_empty() {
            self.0.lines.push(&sums);
        }
        self.0.lines.flush(patience);
    }

    /// How many lines were lost because they could not be written in time, or at all.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lines.lost()
    }

    /// Writes a line, if the rules say so.
    fn write(&self, record: &mut Record<'_>) {
        let Inner { options, lines, flood, .. } = &*self.0;
        if options.slow.is_some_and(|slow| record.duration.is_some_and(|duration| duration >= slow)) {
            (record.is_slow, record.level) = (true, record.level.min(LogLevel::Warn));
        }
        if record.level > self.threshold(record) || !self.is_sampled(record) {
            return;
        }
        let is_failure = record.level <= LogLevel::Warn && !record.is_slow;
        let line = Line { record, format: options.format };
        if !is_failure || lock(flood).add(&line, Instant::now()) == FloodVerdict::Write {
            thread_local! {
                /// Kept, so that a line needs no allocation.
                static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
            }
            LINE.with_borrow_mut(|line| {
                line.clear();
                options.format.push(line, record, time::of(record.at));
                lines.push_bytes(line);
            });
        }
    }

    fn threshold(&self, record: &Record<'_>) -> LogLevel {
        let among = |levels: &[(Pattern, LogLevel)], method| {
            levels.iter().find(|(pattern, _)| pattern.matches(method)).map(|(_, level)| *level)
        };
        let overriding = |method| {
            let is_any = self.0.has_overrides.load(Ordering::Relaxed);
            let overrides =
                is_any.then(|| self.0.overrides.read().unwrap_or_else(PoisonError::into_inner))?;
            among(&overrides, method)
        };
        let own = |method| overriding(method).or_else(|| among(&self.0.options.levels, method));
        record.method.and_then(own).unwrap_or_else(|| self.level())
    }

    /// Whether this call is among those that are written. Failures and slow calls always are.
    fn is_sampled(&self, record: &Record<'_>) -> bool {
        let sample = self.0.options.sample;
        if sample >= 1.0 || record.level != LogLevel::Info {
            return true;
        }
        let calls = self.0.calls.fetch_add(1, Ordering::Relaxed) as f64;
        (calls * sample).floor() < ((calls + 1.0) * sample).floor()
    }
}

impl CallLogBuilder {
    /// Writes lines up to this level: [`Info`](LogLevel::Info), which is every call, if it is not set.
    #[must_use]
    pub fn with_level(mut self, level: LogLevel) -> CallLogBuilder {
        self.level = level;
        self
    }

    /// Gives methods another level. If several patterns match, the first one counts.
    #[must_use]
    pub fn with_level_of(mut self, methods: Pattern, level: LogLevel) -> CallLogBuilder {
        self.levels.push((methods, level));
        self
    }

    /// Marks calls that take this long or longer as slow, and writes them at the level of failures.
    #[must_use]
    pub fn with_slow(mut self, slow: Duration) -> CallLogBuilder {
        self.slow = Some(slow);
        self
    }

    /// Writes only this share of the calls that succeed, from 0.0 to 1.0. Failures and slow calls are always written.
    #[must_use]
    pub fn with_sample(mut self, share: f64) -> CallLogBuilder {
        self.sample = share.clamp(0.0, 1.0);
        self
    }

    /// Sets the format.
    #[must_use]
    pub fn with_format(mut self, format: LogFormat) -> CallLogBuilder {
        self.format = format;
        self
    }

    /// Writes to stderr.
    ///
    /// # Errors
    ///
    /// If the thread that writes cannot be started.
    pub fn into_stderr(self) -> io::Result<CallLog> {
        self.start(stderr()?)
    }

    /// Appends to a file, which is replaced when it is full: see [`LogFile`].
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or the thread that writes cannot be started.
    pub fn into_file(self, file: impl Into<LogFile>) -> io::Result<CallLog> {
        self.start(file.into().open()?)
    }

    /// Passes each line, without its line break, to a function. It is called by one thread, and may block.
    ///
    /// # Errors
    ///
    /// If the thread that calls it cannot be started.
    pub fn into_fn(self, take: impl FnMut(&str) + Send + 'static) -> io::Result<CallLog> {
        self.start(Takes(take))
    }

    /// Writes to this queue, among other lines.
    #[must_use]
    pub fn into_lines(self, lines: LineQueue) -> CallLog {
        let flood = Arc::new(Mutex::new(Flood::default()));
        let summed = Arc::clone(&flood);
        lines.add_timer(move || lock(&summed).end_window::<Line<'_>>(Instant::now()));
        let (level, calls) = (AtomicU8::new(self.level as u8), AtomicU64::new(0));
        let (overrides, has_overrides) = (RwLock::default(), AtomicBool::new(false));
        CallLog(Arc::new(Inner { options: self, level, overrides, has_overrides, lines, flood, calls }))
    }

    fn start(self, to: impl Write + Send + 'static) -> io::Result<CallLog> {
        let gap = match self.format {
            LogFormat::Json => json::lost,
            LogFormat::Pretty | LogFormat::Coloured => pretty::lost,
        };
        let lines = LineQueue::builder("call-log", gap).with_room(ROOM).start(to)?;
        Ok(self.into_lines(lines))
    }
}

impl Observer for CallLog {
    fn opened(&self, session: &Session) {
        self.write(&mut Record::of_session(Event::Opened, session.id(), session.origin()));
    }

    fn closed(&self, id: &str, origin: &Origin, reason: &EndReason) {
        let reason = match reason {
            EndReason::Finished => "finished",
            EndReason::Closed(reason) => &reason.text,
            EndReason::Failed(reason) => reason,
            _ => "dropped",
        };
        let record = Record::of_session(Event::Closed, id, origin);
        self.write(&mut Record { reason: Some(reason), ..record });
    }

    fn received(&self, cx: &Context, message: &Received) {
        if let InputKind::Batch(entries) = message.kind {
            self.write(&mut Record::of_batch(cx, message, entries));
        }
    }

    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        self.write(&mut Record::of_refused(cx, refused));
    }

    fn ended(&self, call: &Ended<'_>) {
        // The line is found by the number that the caller got.
        let incident = call.error.and_then(ErrorObject::incident);
        let mut record = Record::of_call(call);
        record.incident = incident.as_deref();
        self.write(&mut record);
    }
}

impl fmt::Debug for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallLog").field("level", &self.level()).finish_non_exhaustive()
    }
}

fn lock(flood: &Mutex<Flood<LineKind>>) -> MutexGuard<'_, Flood<LineKind>> {
    flood.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A record in the format of the log.
struct Line<'a> {
    record: &'a Record<'a>,
    format: LogFormat,
}

impl Repeatable for Line<'_> {
    type Kind = LineKind;

    fn kind(&self) -> LineKind {
        (self.record.event, self.format)
    }

    fn hash_into(&self, hasher: &mut impl std::hash::Hasher) {
        self.record.hash_into(hasher);
    }

    fn line(&self, time: SystemTime) -> String {
        let mut line = Vec::with_capacity(320);
        self.format.push(&mut line, self.record, since_1970(time));
        String::from_utf8(line).unwrap_or_default()
    }

    fn repeated(line: &str, count: u64) -> String {
        if line.starts_with('{') { json::repeated(line, count) } else { pretty::repeated(line, count) }
    }

    fn sum((event, format): LineKind, time: SystemTime, count: u64) -> String {
        let record = Record { reason: Some("by too many callers to name them"), ..Record::new(event) };
        Line::repeated(&Line { record: &record, format }.line(time), count)
    }
}
