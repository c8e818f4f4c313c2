//! What the servers know of a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use crate::model::{LogLevel, Revision, ServerCapabilities, Wire as _};
use crate::spoken::{Features, Handshake, Spoken};

/// A session as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    /// The caller that opened it.
    pub(super) owner: String,
    /// When it was last known to be in use, in seconds since 1970.
    pub(super) used: u64,
    revision: String,
    features: Features,
    client: Option<Json>,
    /// The capabilities that the client was told of.
    declared: Json,
    state: State,
}

/// What changes while a session lasts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct State {
    /// Whether the client has said that it is ready for notifications.
    pub(super) is_ready: bool,
    level: String,
    subscriptions: BTreeSet<String>,
}

impl Record {
    /// A session that has begun.
    pub(super) fn new(owner: String, handshake: &Handshake, used: u64) -> Record {
        let Spoken { revision, features, client } = &*handshake.spoken;
        let (declared, state) = (handshake.declared.to_json(*revision), State::of(handshake));
        let revision = revision.as_str().to_owned();
        Record { owner, used, revision, features: *features, client: client.clone(), declared, state }
    }

    pub(super) fn read(text: &[u8]) -> Option<Record> {
        serde_json::from_slice(text).ok()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn with(&self, state: State, used: u64) -> Record {
        Record { state, used, ..self.clone() }
    }

    /// The handshake that took place at another server. None if that is newer than this one.
    pub(super) fn handshake(&self) -> Option<Handshake> {
        let revision = self.revision.parse::<Revision>().ok()?;
        let client = self.client.clone();
        let declared: ServerCapabilities = self.declared.decode().ok()?;
        let spoken = Spoken { revision, features: self.features, client };
        let handshake = Handshake::new(spoken, Arc::new(declared));
        self.state.apply(&State::of(&handshake), &handshake);
        Some(handshake)
    }
}

impl State {
    /// The state of a session at this server.
    pub(super) fn of(handshake: &Handshake) -> State {
        let subscriptions = handshake.subscriptions(|uris| uris.iter().cloned().collect());
        State { is_ready: handshake.is_ready(), level: handshake.level().as_str().to_owned(), subscriptions }
    }

    /// What there is after others have changed `base` to `theirs`, and this server to `self`.
    pub(super) fn merged(&self, base: &State, theirs: &State) -> State {
        let added = self.subscriptions.difference(&base.subscriptions);
        let is_kept = |uri: &&String| self.subscriptions.contains(*uri) || !base.subscriptions.contains(*uri);
        let subscriptions = theirs.subscriptions.iter().filter(is_kept).chain(added).cloned().collect();
        let level = if self.level == base.level { &theirs.level } else { &self.level };
        State { is_ready: self.is_ready || theirs.is_ready, level: level.clone(), subscriptions }
    }

    /// Makes this the state at this server, where it was another before. Returns the level if that differs.
    pub(super) fn apply(&self, before: &State, handshake: &Handshake) -> Option<LogLevel> {
        // Others may change it at the same time.
        handshake.subscriptions(|uris| {
            before.subscriptions.difference(&self.subscriptions).for_each(|uri| {
                uris.remove(uri);
            });
            uris.extend(self.subscriptions.difference(&before.subscriptions).cloned());
        });
        if self.is_ready {
            handshake.set_ready();
        }
        let level = self.level.parse().ok().filter(|_| self.level != before.level)?;
        handshake.set_level(level);
        Some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ListCapability;

    fn state(level: &str, uris: &[&str]) -> State {
        let subscriptions = uris.iter().map(|uri| (*uri).to_owned()).collect();
        State { is_ready: false, level: level.to_owned(), subscriptions }
    }

    #[test]
    fn changes_of_two_servers_are_both_kept() {
        let base = state("info", &["a", "b"]);
        let here = state("debug", &["b", "c"]);
        let there = State { is_ready: true, ..state("info", &["a", "b", "d"]) };
        let merged = here.merged(&base, &there);
        assert_eq!(merged, State { is_ready: true, ..state("debug", &["b", "c", "d"]) });
        assert_eq!(merged.merged(&merged, &there), there, "what did not change here is as it is there");
    }

    #[test]
    fn a_session_is_the_same_after_it_was_stored() {
        let features = Features { sampling: true, tasks: true, ..Features::default() };
        let client = Json::parse(r#"{"name":"test"}"#).ok();
        let prompts = Some(ListCapability { list_changed: true });
        let declared = Arc::new(ServerCapabilities { prompts, ..ServerCapabilities::default() });
        let spoken = Spoken { revision: Revision::V2025_06_18, features, client };
        let handshake = Handshake::new(spoken, Arc::clone(&declared));
        handshake.set_level(LogLevel::Warning);
        handshake.set_ready();
        handshake.subscriptions(|uris| uris.insert("test://a".to_owned()));
        let record = Record::read(&Record::new("ann".to_owned(), &handshake, 5).write()).unwrap();
        let again = record.handshake().unwrap();
        assert_eq!((record.owner.as_str(), record.used, again.is_ready()), ("ann", 5, true));
        assert_eq!(again.declared, declared);
        assert_eq!((again.spoken.revision, again.spoken.features), (Revision::V2025_06_18, features));
        assert_eq!(again.spoken.client.as_ref().map(Json::as_str), Some(r#"{"name":"test"}"#));
        assert_eq!(State::of(&again), State::of(&handshake));
    }
}
