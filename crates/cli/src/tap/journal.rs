//! Where calls go: to the screen, into the recording, and into the summary.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard::identity::LOGIN;
use switchboard::lines::LineQueue;
use switchboard::observer::{Position, Refused};
use switchboard::{Call, Json, Name, Session};
use tokio::time::Instant;

use super::exchange::Exchange;
use super::filter::Filter;
use super::line::Content;
use super::screen::Screen;
use super::tally::Tally;
use crate::recording::{self, Entry, Side};

/// How long the end of the program waits for the last lines to be written.
const LINGER: Duration = Duration::from_secs(2);

/// Where calls go.
pub(crate) struct Journal {
    filter: Filter,
    screen: Screen,
    recording: Option<LineQueue>,
    tally: Mutex<Tally>,
    start: Instant,
    calls: AtomicU64,
    sessions: AtomicU64,
}

/// The number of a session. Its identifier is not shown: it may be enough to take over the session.
struct Number(u64);

thread_local! {
    /// The position of the call that is about to run on this thread: a layer does not see batches.
    static POSITION: Cell<Option<Position>> = const { Cell::new(None) };
}

impl Journal {
    pub(crate) fn new(filter: Filter, screen: Screen, recording: Option<LineQueue>) -> Journal {
        let (calls, sessions) = (AtomicU64::new(1), AtomicU64::new(1));
        let (tally, start) = (Mutex::default(), Instant::now());
        Journal { filter, screen, recording, tally, start, calls, sessions }
    }

    /// The number of a session, counted from 1.
    pub(crate) fn session(&self, session: &Session) -> u64 {
        session.get_or_insert_with(|| Number(self.sessions.fetch_add(1, Relaxed))).0
    }

    /// A call begins. The exchange notes its end.
    pub(crate) fn begin(self: &Arc<Journal>, call: &Call, to: Side, session: u64) -> Exchange {
        let position = if to == Side::Server { POSITION.take() } else { None };
        let (batch, entry) = match position {
            Some(Position::Entry { batch, index }) => (Some(batch.0), Some(index)),
            _ => (None, None),
        };
        let params = if call.method.as_str() == LOGIN { masked() } else { call.params.clone() };
        let entry = Entry {
            id: self.calls.fetch_add(1, Relaxed),
            at: self.now(),
            session,
            to,
            method: call.method.to_string(),
            params: None,
            notification: call.is_notification(),
            batch,
            entry,
            result: None,
            items: None,
            error: None,
            cancelled: false,
            omitted: Vec::new(),
            ms: 0.0,
        };
        if self.shows_messages(&entry) {
            self.screen.begin(&entry, params.as_ref());
        }
        Exchange::new(Arc::clone(self), entry, params)
    }

    /// The next call on this thread has this position.
    pub(crate) fn locate(at: Position) {
        POSITION.set(Some(at));
    }

    /// A message was refused before it became a call.
    pub(crate) fn refuse(&self, session: &Session, refused: &Refused<'_>) {
        self.tally().refuse();
        if self.filter.shows_refused(refused.method.map(Name::as_str)) {
            self.screen.refused(self.session(session), self.now(), refused.error);
        }
    }

    /// An item of a stream has come.
    pub(crate) fn item(&self, entry: &Entry, number: u64, item: &Json) {
        if self.shows_messages(entry) {
            self.screen.item(entry, number, item);
        }
    }

    /// A call has ended. The answer is as it was received; the entry has what is kept of it.
    pub(crate) fn end(&self, entry: &Entry, answer: Option<Content<'_>>) {
        self.tally().add(entry);
        if let Some(recording) = &self.recording {
            recording.push(&recording::line(entry));
        }
        if !self.filter.shows(entry) {
            return;
        }
        if !self.screen.shows_messages() {
            return self.screen.write_json(entry);
        }
        if self.filter.needs_end() {
            self.screen.begin(entry, entry.params.as_ref());
        }
        self.screen.end(entry, answer);
    }

    /// Whether what is said has to be kept until the end of the call.
    pub(crate) fn keeps(&self) -> bool {
        self.recording.is_some() || !self.screen.shows_messages() || self.filter.needs_end()
    }

    /// The time since the start, in milliseconds.
    pub(crate) fn now(&self) -> f64 {
        self.start.elapsed().as_micros() as f64 / 1000.0
    }

    /// Writes the last lines; gives the summary.
    pub(crate) fn finish(&self) -> String {
        self.screen.flush(LINGER);
        let mut summary = self.tally().summary();
        if let Some(recording) = &self.recording {
            recording.flush(LINGER);
            if let lost @ 1.. = recording.lost() {
                summary.push_str(&format!("warning: {lost} calls are missing in the recording\n"));
            }
        }
        summary
    }

    /// Whether the messages of a call are shown as they pass.
    fn shows_messages(&self, entry: &Entry) -> bool {
        self.screen.shows_messages() && !self.filter.needs_end() && self.filter.shows_method(&entry.method)
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Params in place of the token of a login.
fn masked() -> Option<Json> {
    Json::parse("[\"***\"]").ok()
}
