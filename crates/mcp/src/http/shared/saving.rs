//! Stores the events of streams.

use std::sync::Arc;
use std::time::Duration;

use switchboard_layers::store::StoreError;

use super::{Chunk, ChunkId, SharedSessions};
use crate::http::events::Changes;
use crate::http::sessions::Live;

/// The least time between two chunks: what is sent meanwhile goes into one.
const PAUSE: Duration = Duration::from_millis(50);

/// The time between two attempts to store a chunk.
const RETRY: Duration = Duration::from_secs(1);

/// How long the store has a chunk whose events are not kept any more. Clients read on with the next one, and no client is so far behind.
const EMPTY: Duration = Duration::from_secs(300);

impl SharedSessions {
    pub(super) fn chunk_key(session: &str, id: ChunkId) -> Vec<u8> {
        format!("events.{session}.{}.{}", id.stream, id.number).into_bytes()
    }

    /// Stores what streams of this session have sent, until there is nothing that the store does not have. Each chunk gets there, with events or
    /// without: who reads a stream waits for the next one.
    pub(in crate::http) async fn save(self: Arc<Self>, live: Arc<Live>) {
        while let Some(Changes { chunks, removed }) = live.next_changes() {
            for (id, chunk) in chunks {
                self.save_chunk(&live, id, chunk).await;
            }
            for id in removed {
                // What is left expires.
                if let Err(error) = self.empty(&live, id).await {
                    tracing::debug!(%error, "events that are not kept any more stay in the store for a while");
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn save_chunk(&self, live: &Arc<Live>, id: ChunkId, mut chunk: Chunk) {
        let key = SharedSessions::chunk_key(live.session.id(), id);
        chunk.by.clone_from(&self.name);
        loop {
            let text = serde_json::to_vec(&chunk).unwrap_or_default();
            match self.store.insert(&key, &text, self.time).await {
                Ok(_) => return,
                Err(StoreError::Unavailable(_)) => {}
                Err(error) => {
                    tracing::debug!(%error, "events are not stored; clients get them again from this server only");
                    // Without them it may be accepted at once.
                    if !std::mem::take(&mut chunk.events).is_empty() {
                        continue;
                    }
                }
            }
            // Nobody comes back to a session that has ended, or that only this task has.
            if live.session.close_reason().is_some() || Arc::strong_count(live) == 1 {
                return;
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes the events out of a chunk, and all of it out of the store if the session has ended.
    async fn empty(&self, live: &Live, id: ChunkId) -> Result<(), StoreError> {
        let key = SharedSessions::chunk_key(live.session.id(), id);
        if live.session.close_reason().is_some() {
            return self.store.remove(&key).await;
        }
        let Some(text) = self.store.read(&key).await? else { return Ok(()) };
        if let Ok(chunk) = serde_json::from_slice::<Chunk>(&text) {
            let empty = serde_json::to_vec(&Chunk { events: Vec::new(), ..chunk }).unwrap_or_default();
            // Nobody else writes it.
            self.store.replace(&key, &text, &empty, self.time.min(EMPTY)).await?;
        }
        Ok(())
    }
}
