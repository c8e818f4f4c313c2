//! Sessions that several servers share, in a store: any of them can serve any client.
//!
//! A server that does not know a session finds it in the store, and makes one like it. What changes later is merged there. Events of
//! streams are stored in chunks, so that a client can come back for them to any server, even if the one that had its stream is gone. Calls,
//! questions to the client, and messages that belong to no request stay at the server where they began.

mod chunk;
mod record;
mod replay;
mod saving;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use switchboard_core::{Context, Session};
use switchboard_layers::Clock;
use switchboard_layers::store::{Store, StoreError, put};
use tokio::time::Instant;

pub(super) use self::chunk::{Chunk, ChunkId};
use self::record::{Record, State};
pub(super) use self::replay::Replay;
use super::Endpoint;
use super::sessions::{InUse, Live};
use crate::adapt::Own;
use crate::ask::seal::random_id;
use crate::server::principal;
use crate::spoken::Handshake;

/// For how long a server does not ask what others have changed.
const FRESH: Duration = Duration::from_secs(1);

/// How often a server says that it is there, and looks after the sessions in use.
const BEAT: Duration = Duration::from_secs(10);

/// How often a change is tried again if others change the same session.
const ATTEMPTS: usize = 5;

/// The sessions in a store.
pub(super) struct SharedSessions {
    store: Arc<dyn Store>,
    /// After how much time an idle session ends.
    time: Duration,
    /// The name of this server.
    name: String,
    beat: Duration,
    /// When this server last said that it is there.
    beaten: Mutex<Option<Instant>>,
    is_tended: AtomicBool,
    clock: Clock,
}

/// What a server knows of the record of a session.
#[derive(Default)]
pub(super) struct Known(Mutex<Option<(State, Instant)>>);

/// Why a session cannot be used.
pub(super) enum Lost {
    /// There is none, for this caller.
    Unknown,
    /// This server does not have it, and cannot ask the store.
    Unavailable,
    /// There are too many others.
    Full,
}

impl SharedSessions {
    pub(super) fn new(store: Arc<dyn Store>, time: Duration, keep_alive: Duration) -> SharedSessions {
        let beat = keep_alive.clamp(Duration::from_millis(100), BEAT);
        let (beaten, is_tended) = (Mutex::default(), AtomicBool::new(false));
        SharedSessions { store, time, name: random_id(), beat, beaten, is_tended, clock: Clock::system() }
    }

    /// How long the store keeps what belongs to sessions that are idle for so long. Whether one is in use is not written each time.
    pub(super) fn store_time(time: Duration) -> Duration {
        time + time / 4
    }

    fn record_key(id: &str) -> Vec<u8> {
        format!("session.{id}").into_bytes()
    }

    fn beat_key(name: &str) -> Vec<u8> {
        format!("server.{name}").into_bytes()
    }

    async fn read(&self, id: &str) -> Result<Option<Record>, StoreError> {
        let text = self.store.read(&SharedSessions::record_key(id)).await?;
        Ok(text.and_then(|text| Record::read(&text)))
    }

    /// Stores what has changed here, and takes over what others have changed. False if the session has ended elsewhere.
    async fn sync(&self, live: &Live) -> Result<bool, StoreError> {
        let Some(handshake) = Handshake::of(&live.session) else { return Ok(true) };
        let (key, time) =
            (SharedSessions::record_key(live.session.id()), SharedSessions::store_time(self.time));
        for _ in 0..ATTEMPTS {
            let (here, known) = (State::of(&handshake), live.known.get());
            let now = self.clock.seconds();
            let Some((base, _)) = known else {
                let record = Record::new(live.owner.clone(), &handshake, now);
                if !self.store.insert(&key, &record.write(), time).await? {
                    // It was stored, and the answer was lost.
                    tracing::debug!("a session was stored twice");
                }
                live.known.set(here);
                return Ok(true);
            };
            let Some(text) = self.store.read(&key).await? else { return Ok(false) };
            let Some(record) = Record::read(&text) else { return Ok(false) };
            let merged = here.merged(&base, record.state());
            let is_old = now.saturating_sub(record.used) > self.time.as_secs() / 4;
            if (merged == *record.state() && !is_old)
                || self.store.replace(&key, &text, &record.with(merged.clone(), now).write(), time).await?
            {
                if let Some(level) = merged.apply(&here, &handshake) {
                    Own::set_level(&live.session, level);
                }
                live.known.set(merged);
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Says that this server is there, if it has not for a while.
    async fn beat(&self) {
        let beaten = || self.beaten.lock().unwrap_or_else(PoisonError::into_inner);
        if beaten().is_some_and(|last| last.elapsed() < self.beat) {
            return;
        }
        match put(&*self.store, &SharedSessions::beat_key(&self.name), b"", self.beat * 3).await {
            Ok(()) => *beaten() = Some(Instant::now()),
            Err(error) => tracing::debug!(%error, "cannot tell other servers that this one is there"),
        }
    }

    /// Whether a server is there that has streams which another one does not know.
    async fn is_there(&self, name: &str) -> Result<bool, StoreError> {
        // This one knows its own.
        Ok(name != self.name && self.store.read(&SharedSessions::beat_key(name)).await?.is_some())
    }
}

impl Known {
    fn get(&self) -> Option<(State, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((state, Instant::now()));
    }

    /// Whether there is nothing to ask the store, or to tell it.
    fn is_fresh(&self, live: &Live) -> bool {
        let here = Handshake::of(&live.session).map(|handshake| State::of(&handshake));
        self.get().is_some_and(|(state, asked)| asked.elapsed() < FRESH && here.as_ref() == Some(&state))
    }
}

impl Endpoint {
    /// The session with this identifier, if it belongs to the caller.
    pub(super) async fn session(self: &Arc<Self>, id: &str, cx: &Context) -> Result<InUse, Lost> {
        let owner = principal(cx);
        let found = self.sessions.find(id, &owner);
        let Some(shared) = &self.shared_sessions else { return found.ok_or(Lost::Unknown) };
        match found {
            Some(in_use) if self.refresh(in_use.live()).await => Ok(in_use),
            Some(_) => Err(Lost::Unknown),
            // Others make no such identifiers.
            None if id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Err(Lost::Unknown)
            }
            None => {
                let record = shared.read(id).await.map_err(|error| {
                    tracing::warn!(%error, "cannot look for a session in the store");
                    Lost::Unavailable
                })?;
                let record = record.filter(|record| record.owner == owner).ok_or(Lost::Unknown)?;
                self.adopt(id, &record, cx).await
            }
        }
    }

    /// Makes a session like one of another server.
    async fn adopt(self: &Arc<Self>, id: &str, record: &Record, cx: &Context) -> Result<InUse, Lost> {
        let handshake = record.handshake().ok_or(Lost::Unknown)?;
        let session = Session::stateful(cx.origin().clone(), &self.engine);
        session.set_id(id);
        session.set(handshake);
        let in_use = self.sessions.add(session, record.owner.clone(), self.shared_sessions.as_ref());
        let in_use = in_use.ok_or(Lost::Full)?;
        let live = in_use.live();
        if let (None, Some(handshake)) = (live.known.get(), Handshake::of(&live.session)) {
            live.known.set(record.state().clone());
            if record.state().is_ready {
                self.shared.subscribers.add(&live.session, &handshake);
            }
        }
        self.tend().await;
        Ok(in_use)
    }

    /// Stores a session that has begun here.
    pub(super) async fn publish(self: &Arc<Self>, live: &Live) {
        if self.shared_sessions.is_some() {
            self.refresh(live).await;
            self.tend().await;
        }
    }

    /// Keeps a session as it is at other servers. False if it has ended there. While the store is not available, it goes on here.
    pub(super) async fn refresh(&self, live: &Live) -> bool {
        let Some(shared) = &self.shared_sessions else { return true };
        if live.known.is_fresh(live) {
            return true;
        }
        match shared.sync(live).await {
            Ok(true) => {
                if let Some(handshake) = Handshake::of(&live.session).filter(|handshake| handshake.is_ready())
                {
                    self.shared.subscribers.add(&live.session, &handshake);
                }
                true
            }
            Ok(false) => {
                self.sessions.remove(live.session.id(), &live.owner);
                false
            }
            Err(error) => {
                tracing::warn!(%error, "a session is not shared with other servers");
                true
            }
        }
    }

    /// Ends a session here and at all other servers. False if that is not known.
    pub(super) async fn end(&self, live: &Live) -> bool {
        let id = live.session.id();
        let removed = match &self.shared_sessions {
            Some(shared) => shared.store.remove(&SharedSessions::record_key(id)).await.is_ok(),
            None => true,
        };
        self.sessions.remove(id, &live.owner);
        removed
    }

    /// Begins to look after the sessions in use, unless that has begun.
    async fn tend(self: &Arc<Self>) {
        let Some(shared) = &self.shared_sessions else { return };
        shared.beat().await;
        if !shared.is_tended.swap(true, Ordering::Relaxed) {
            tokio::spawn(tend(Arc::downgrade(self), shared.beat / 2));
        }
    }
}

/// Looks after the sessions in use, as long as the endpoint exists: their streams end if they have ended elsewhere.
async fn tend(endpoint: Weak<Endpoint>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(endpoint) = endpoint.upgrade() else { return };
        let Some(shared) = &endpoint.shared_sessions else { return };
        shared.beat().await;
        for live in endpoint.sessions.in_use() {
            endpoint.refresh(&live).await;
            // With many sessions a round may take longer than the others wait.
            shared.beat().await;
        }
    }
}

impl fmt::Debug for SharedSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSessions").field("name", &self.name).finish_non_exhaustive()
    }
}
