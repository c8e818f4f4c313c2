//! The audit log: security events, one JSON line each.
//!
//! [`Audit`] is a handle that layers record [`AuditEvent`]s with. The default one records nothing. Lines are queued and written by a thread, so
//! a slow disk or a pipe that is not read never delays a call. Lines that find the queue full are dropped, and a later line says how
//! many.
//!
//! ```json
//! {"time":"2026-11-17T10:43:02.117Z","event":"access-denied","who":"bob","peer":"192.0.2.7:50123","transport":"https",
//!  "session":"5c9e01ab","method":"admin/restart","reason":"no rule allows it","incident":"8d5c2f0e6a1b4c3d"}
//! ```
//!
//! - A line never has credentials or params. Texts that callers choose are truncated, and a line is ASCII, so nothing in it can pass for
//!   another line or control a terminal.
//! - Equal events (the same event, address, caller and reason) are written five times in ten seconds. Then one line has the number of
//!   further ones as `repeated`. So a flood writes a bounded number of bytes.

mod event;

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

pub use self::event::{AuditEvent, AuditKind};

use crate::lines::{Flood, FloodVerdict, LineQueue, LogFile, Repeatable as _, Takes, stderr};

/// Records security events. Cheap to clone; the default records nothing.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use switchboard_layers::audit::{Audit, AuditEvent, AuditKind};
///
/// let (lines, received) = mpsc::channel();
/// let audit = Audit::to_fn(move |line| lines.send(line.to_owned()).unwrap())?;
/// audit.record(&AuditEvent::new(AuditKind::CONFIG_RELOADED).reason("SIGHUP"));
/// audit.flush(Duration::from_secs(10));
/// assert!(received.try_recv()?.contains(r#""event":"config-reloaded""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Recorder>>);

struct Recorder {
    /// Events of each kind in [`AuditKind::ALL`].
    counts: [AtomicU64; AuditKind::ALL.len()],
    /// None if events are only counted.
    writer: Option<Writer>,
}

struct Writer {
    lines: LineQueue,
    flood: Arc<Mutex<Flood<AuditKind>>>,
}

impl Audit {
    /// Writes to stderr.
    ///
    /// # Errors
    ///
    /// If the thread that writes cannot be started.
    pub fn to_stderr() -> io::Result<Audit> {
        Audit::start(stderr()?)
    }

    /// Appends to a file, which is replaced when it is full: see [`LogFile`].
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or the thread that writes cannot be started.
    pub fn to_file(file: impl Into<LogFile>) -> io::Result<Audit> {
        Audit::start(file.into().open()?)
    }

    /// Passes each line, without its line break, to a function. It is called by one thread, and may block.
    ///
    /// # Errors
    ///
    /// If the thread that calls it cannot be started.
    pub fn to_fn(take: impl FnMut(&str) + Send + 'static) -> io::Result<Audit> {
        Audit::start(Takes(take))
    }

    fn start(to: impl Write + Send + 'static) -> io::Result<Audit> {
        let flood = Arc::new(Mutex::new(Flood::default()));
        let summed = Arc::clone(&flood);
        let lines = LineQueue::builder("audit", gap)
            .with_timer(move || lock(&summed).end_window::<AuditEvent<'_>>(Instant::now()))
            .start(to)?;
        Ok(Audit::with(Some(Writer { lines, flood })))
    }

    /// Counts events, and writes nothing.
    #[must_use]
    pub fn counting() -> Audit {
        Audit::with(None)
    }

    fn with(writer: Option<Writer>) -> Audit {
        let counts = [const { AtomicU64::new(0) }; AuditKind::ALL.len()];
        Audit(Some(Arc::new(Recorder { counts, writer })))
    }

    /// Whether events are recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How many events of this kind were recorded. Only kinds in [`AuditKind::ALL`] are counted.
    #[must_use]
    pub fn count(&self, kind: AuditKind) -> u64 {
        let count = self.0.as_ref().and_then(|recorder| recorder.count(kind));
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn writer(&self) -> Option<&Writer> {
        self.0.as_ref()?.writer.as_ref()
    }

    /// Records an event. It never blocks.
    pub fn record(&self, event: &AuditEvent<'_>) {
        let Some(recorder) = &self.0 else { return };
        if let Some(count) = recorder.count(event.kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let Some(Writer { lines, flood }) = &recorder.writer else { return };
        if lock(flood).add(event, Instant::now()) == FloodVerdict::Write {
            lines.push(&event.line(SystemTime::now()));
        }
    }

    /// Writes what is queued, and the sums of repeated events, but waits no longer than this.
    pub fn flush(&self, patience: Duration) {
        let Some(Writer { lines, flood }) = self.writer() else { return };
        let sums = lock(flood).take_sums::<AuditEvent<'_>>();
        if !sums.is_empty() {
            lines.push(&sums);
        }
        lines.flush(patience);
    }

    /// How many lines were lost because they could not be written in time, or at all.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.writer().map_or(0, |writer| writer.lines.lost())
    }
}

impl Recorder {
    fn count(&self, kind: AuditKind) -> Option<&AtomicU64> {
        let at = AuditKind::ALL.iter().position(|known| *known == kind)?;
        self.counts.get(at)
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Audit(on)" } else { "Audit(off)" })
    }
}

/// The line in the place of lost ones.
fn gap(lost: u64) -> String {
    event::lost_line(SystemTime::now(), lost)
}

fn lock(flood: &Mutex<Flood<AuditKind>>) -> MutexGuard<'_, Flood<AuditKind>> {
    flood.lock().unwrap_or_else(PoisonError::into_inner)
}
