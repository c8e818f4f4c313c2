//! Records that wait for the thread that writes them. To make lines of them takes longer than a call, so that is left to the thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::LogFormat;
use super::record::{Entry, Record};
use crate::lines::LineQueue;

/// The most records that wait; more are dropped. They take about 300 bytes each.
const ROOM: usize = 16 << 10;
/// How long the thread collects records before it writes them together.
const LINGER: Duration = Duration::from_millis(2);

/// Records that wait.
#[derive(Default)]
pub(super) struct Pending(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    entries: Vec<Entry>,
    /// Whether the thread will look again by itself.
    is_watched: bool,
}

impl Pending {
    /// Adds a record, and wakes the thread unless it looks anyway.
    pub(super) fn push(&self, record: &Record<'_>, lines: &LineQueue) {
        let entry = Entry::of(record);
        let mut queue = self.lock();
        let (is_full, was_watched) = (queue.entries.len() >= ROOM, queue.is_watched);
        if !is_full {
            queue.entries.push(entry);
        }
        queue.is_watched = true;
        drop(queue);
        if is_full {
            lines.note_dropped();
        }
        if !was_watched {
            lines.wake();
        }
    }

    /// What makes lines of the records, for the thread.
    pub(super) fn writer(
        self: &Arc<Pending>,
        format: LogFormat,
    ) -> impl FnMut() -> (String, Option<Duration>) + Send + 'static {
        let (pending, mut taken) = (Arc::clone(self), Vec::new());
        move || {
            let mut queue = pending.lock();
            std::mem::swap(&mut queue.entries, &mut taken);
            queue.is_watched = !taken.is_empty();
            drop(queue);
            let (now, clock) = (Instant::now(), SystemTime::now());
            let mut lines = String::with_capacity(taken.len() * 256);
            for entry in taken.drain(..) {
                let record = entry.record();
                let ago = record.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
                format.push(&mut lines, &record, clock.checked_sub(ago).unwrap_or(clock));
            }
            let wait = (!lines.is_empty()).then_some(LINGER);
            (lines, wait)
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
