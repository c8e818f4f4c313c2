//! The sessions of an endpoint (MCP-HTTP-12).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{CloseReason, EndReason, Json, Session};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::events::{Changes, EventId, EventLog, Rest};
use super::shared::{Known, SharedSessions};
use crate::ask::seal::random;
use crate::model::Revision;
use crate::spoken::Handshake;
use crate::table::shrink;

/// A session over HTTP.
pub(super) struct Live {
    pub(super) session: Session,
    pub(super) revision: Revision,
    /// The caller that opened it. No other caller can use it, even with its identifier.
    pub(super) owner: String,
    /// What is known of its record in the store.
    pub(super) known: Known,
    /// Where its events are stored for other servers, if there are any.
    shared: Option<Arc<SharedSessions>>,
    log: Mutex<EventLog>,
    changed: Notify,
    /// When it was used last, in milliseconds since the endpoint began.
    used: AtomicU64,
    /// How many requests and streams are open.
    open: AtomicUsize,
}

impl Live {
    fn log<T>(&self, act: impl FnOnce(&mut EventLog) -> T) -> T {
        act(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn open_stream(self: &Arc<Self>, is_general: bool, request: Option<Json>) -> u64 {
        let stream = self.log(|log| log.open(is_general, request));
        self.save();
        stream
    }

    pub(super) fn reopen_stream(&self, stream: u64) {
        self.log(|log| log.reopen(stream));
    }

    pub(super) fn is_general(&self, stream: u64) -> Option<bool> {
        self.log(|log| log.is_general(stream))
    }

    /// Keeps an event, for a client that comes back for it.
    pub(super) fn keep(self: &Arc<Self>, stream: u64, text: &Bytes) -> EventId {
        let id = self.log(|log| log.add(stream, text));
        self.changed.notify_waiters();
        self.save();
        id
    }

    pub(super) fn end_stream(self: &Arc<Self>, stream: u64) {
        self.log(|log| log.end(stream));
        self.changed.notify_waiters();
        self.save();
    }

    /// Stores what the store does not know.
    fn save(self: &Arc<Self>) {
        let Some(shared) = &self.shared else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && self.log(EventLog::begin_saving)
        {
            runtime.spawn(Arc::clone(shared).save(Arc::clone(self)));
        }
    }

    /// What to store next.
    pub(super) fn next_changes(&self) -> Option<Changes> {
        self.log(EventLog::next_changes)
    }

    /// What followed an event until now.
    pub(super) fn missed(&self, id: EventId) -> Option<Rest> {
        self.log(|log| log.after(id))
    }

    /// What follows an event, as soon as there is anything.
    pub(super) async fn rest(&self, id: EventId) -> Option<Rest> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let rest = self.log(|log| log.after(id))?;
            if rest.has_ended || !rest.events.is_empty() {
                return Some(rest);
            }
            changed.await;
        }
    }
}

/// A request or stream of a session: it is not idle meanwhile.
pub(super) struct InUse {
    live: Arc<Live>,
    clock: Instant,
}

impl InUse {
    fn new(live: &Arc<Live>, clock: Instant) -> InUse {
        live.open.fetch_add(1, Ordering::Relaxed);
        InUse { live: Arc::clone(live), clock }
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.live.used.store(millis(self.clock), Ordering::Relaxed);
        self.live.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The sessions, by identifier.
pub(super) struct Sessions {
    table: Arc<Mutex<Table>>,
    most: usize,
    time: Duration,
    clock: Instant,
}

#[derive(Default)]
struct Table {
    sessions: HashMap<String, Arc<Live>>,
    is_swept: bool,
}

impl Sessions {
    pub(super) fn new(most: usize, time: Duration) -> Sessions {
        Sessions { table: Arc::default(), most, time, clock: Instant::now() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        locked(&self.table)
    }

    pub(super) fn len(&self) -> usize {
        self.table().sessions.len()
    }

    /// Adds a session that has begun, here or at another server, unless it is there. None if there are too many and all are in use.
    pub(super) fn add(
        &self,
        session: Session,
        owner: String,
        shared: Option<&Arc<SharedSessions>>,
    ) -> Option<InUse> {
        let revision = Handshake::of(&session)?.spoken.revision;
        let id = session.id().to_owned();
        let mut table = self.table();
        if let Some(known) = table.sessions.get(&id) {
            return Some(InUse::new(known, self.clock));
        }
        let is_full = table.sessions.len() >= self.most;
        let displaced =
            is_full.then(|| longest_idle(&table)).flatten().and_then(|id| table.sessions.remove(&id));
        if is_full && displaced.is_none() {
            return None;
        }
        // Two servers do not number streams alike. Numbers stay below 2^53, which all clients can read.
        let log = shared.map(|_| EventLog::stored(u64::from_le_bytes(random()) >> 12));
        let live = Arc::new(Live {
            session,
            revision,
            owner,
            known: Known::default(),
            shared: shared.cloned(),
            log: Mutex::new(log.unwrap_or_default()),
            changed: Notify::new(),
            used: AtomicU64::new(millis(self.clock)),
            open: AtomicUsize::new(0),
        });
        let in_use = InUse::new(&live, self.clock);
        table.sessions.insert(id, live);
        let begins_sweeping = !std::mem::replace(&mut table.is_swept, true);
        drop(table);
        if let Some(displaced) = displaced {
            end(&displaced);
        }
        if begins_sweeping {
            tokio::spawn(sweep(Arc::downgrade(&self.table), self.time, self.clock));
        }
        Some(in_use)
    }

    /// Those with open requests or streams.
    pub(super) fn in_use(&self) -> Vec<Arc<Live>> {
        let table = self.table();
        table.sessions.values().filter(|live| live.open.load(Ordering::Relaxed) > 0).cloned().collect()
    }

    /// The session with this identifier, if it belongs to this caller.
    pub(super) fn find(&self, id: &str, owner: &str) -> Option<InUse> {
        self.table()
            .sessions
            .get(id)
            .filter(|live| live.owner == owner)
            .map(|live| InUse::new(live, self.clock))
    }

    /// Ends a session. False if there is none, or it belongs to another caller.
    pub(super) fn remove(&self, id: &str, owner: &str) -> bool {
        let mut table = self.table();
        if table.sessions.get(id).is_none_or(|live| live.owner != owner) {
            return false;
        }
        let removed = table.sessions.remove(id);
        shrink(&mut table.sessions);
        drop(table);
        let removed = removed.inspect(|live| {
            end(live);
            live.log(EventLog::clear);
            live.save();
        });
        removed.is_some()
    }
}

fn locked(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn longest_idle(table: &Table) -> Option<String> {
    let idle = table.sessions.iter().filter(|(_, live)| live.open.load(Ordering::Relaxed) == 0);
    let longest = idle.min_by_key(|(_, live)| live.used.load(Ordering::Relaxed));
    longest.map(|(id, _)| id.clone())
}

fn end(live: &Live) {
    live.session.close(CloseReason::new("the session has ended"));
    live.session.end(EndReason::Finished);
    live.changed.notify_waiters();
}

/// Ends sessions that were idle for too long, as long as the table exists.
async fn sweep(table: Weak<Mutex<Table>>, time: Duration, clock: Instant) {
    let pause = (time / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else { return };
        let now = millis(clock);
        let is_over = |live: &Live| {
            let idle = Duration::from_millis(now.saturating_sub(live.used.load(Ordering::Relaxed)));
            live.open.load(Ordering::Relaxed) == 0 && idle >= time
        };
        let mut over = Vec::new();
        let mut kept = locked(&table);
        kept.sessions.retain(|_, live| {
            let is_kept = !is_over(live);
            if !is_kept {
                over.push(Arc::clone(live));
            }
            is_kept
        });
        shrink(&mut kept.sessions);
        drop(kept);
        over.iter().for_each(|live| end(live));
    }
}
