//! The sessions that are open.

use std::collections::BTreeMap;
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
    record: SessionRecord,
}

impl Sessions {
    /// The open ones, oldest first.
    pub(super) fn list(&self) -> Vec<SessionRecord> {
        let mut list: Vec<_> = self.lock().values().map(|open| open.record.clone()).collect();
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

    fn change(&self, id: &str, change: impl FnOnce(&mut SessionRecord)) {
        if let Some(open) = self.lock().get_mut(id) {
            change(&mut open.record);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Sessions {
    fn opened(&self, session: &Session) {
        let mut open = self.lock();
        if open.len() >= LISTED {
            return;
        }
        let (id, origin) = (session.id().to_owned(), session.origin());
        let record = SessionRecord {
            id: id.chars().take(8).collect(),
            who: None,
            peer: origin.address.map(|address| address.to_string()),
            transport: origin.transport,
            since: milliseconds(SystemTime::now()),
            calls: 0,
            streams: 0,
        };
        open.insert(id, Open { session: session.clone(), record });
    }

    fn closed(&self, id: &str, _: &Origin, _: &EndReason) {
        self.lock().remove(id);
    }

    fn streaming(&self, call: &Begun<'_>) {
        self.change(call.cx.session().id(), |session| session.streams += 1);
    }

    fn ended(&self, call: &Ended<'_>) {
        let who = Identity::from_context(call.cx).map(|identity| &identity.subject);
        self.change(call.cx.session().id(), |session| {
            session.calls += 1;
            session.streams -= u64::from(call.is_stream);
            if session.who.as_ref() != who {
                session.who = who.cloned();
            }
        });
    }
}
