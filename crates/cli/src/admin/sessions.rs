//! The sessions that are open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::identity::Identity;
use switchboard::observer::{Begun, Ended, Observer};
use switchboard::{CloseReason, EndReason, FromContext as _, Origin, Session};

use super::health::milliseconds;

/// Sessions that are listed. All are counted.
const LISTED: usize = 10_000;

/// An open session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionRecord {
    /// First characters of its identifier.
    pub(super) id: String,
    /// Caller of its last call, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) who: Option<String>,
    /// Address of the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
    /// Transport, such as ws.
    pub(super) transport: &'static str,
    /// When it began, in milliseconds since 1970.
    pub(super) since: f64,
    /// Calls that have ended.
    pub(super) calls: u64,
    /// Streams that are open.
    pub(super) streams: u64,
}

/// Remembers sessions. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<BTreeMap<String, Open>>>);

struct Open {
    session: Session,
    since: SystemTime,
    counts: Arc<Counts>,
}

/// What is counted about a session. It is in a slot of the session, so a call needs no search for it.
#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    streams: AtomicI64,
    who: Mutex<Option<String>>,
}

impl Sessions {
    /// The open ones, oldest first.
    pub(super) fn list(&self) -> Vec<SessionRecord> {
        let mut list: Vec<_> = self.lock().values().map(Open::record).collect();
        list.sort_by(|one, other| one.since.total_cmp(&other.since));
        list
    }

    /// Closes those whose identifier begins like this, and says how many.
    pub(super) fn close(&self, id: &str, reason: &str) -> usize {
        let found: Vec<Session> = {
            let open = self.lock();
            open.range(id.to_owned()..)
                .take_while(|(own, _)| own.starts_with(id))
                .map(|(_, open)| open.session.clone())
                .collect()
        };
        found.iter().for_each(|session| session.close(CloseReason::new(reason.to_owned())));
        found.len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn record(&self) -> SessionRecord {
        let Open { session, since, counts } = self;
        let origin = session.origin();
        SessionRecord {
            id: session.id().chars().take(8).collect(),
            who: counts.who().clone(),
            peer: origin.address.map(|address| address.to_string()),
            transport: origin.transport,
            since: milliseconds(*since),
            calls: counts.calls.load(Ordering::Relaxed),
            streams: u64::try_from(counts.streams.load(Ordering::Relaxed)).unwrap_or(0),
        }
    }
}

impl Counts {
    fn who(&self) -> MutexGuard<'_, Option<String>> {
        self.who.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Sessions {
    fn opened(&self, session: &Session) {
        let mut open = self.lock();
        if open.len() < LISTED {
            let (counts, since) = (session.get_or_insert_with(Counts::default), SystemTime::now());
            open.insert(session.id().to_owned(), Open { session: session.clone(), since, counts });
        }
    }

    fn closed(&self, id: &str, _: &Origin, _: &EndReason) {
        self.lock().remove(id);
    }

    fn streaming(&self, call: &Begun<'_>) {
        if let Some(counts) = call.cx.session().get::<Counts>() {
            counts.streams.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ended(&self, call: &Ended<'_>) {
        let Some(counts) = call.cx.session().get::<Counts>() else { return };
        counts.calls.fetch_add(1, Ordering::Relaxed);
        if call.is_stream {
            counts.streams.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(Identity { subject, .. }) = Identity::from_context(call.cx) {
            let mut who = counts.who();
            if who.as_ref() != Some(subject) {
                *who = Some(subject.clone());
            }
        }
    }
}
