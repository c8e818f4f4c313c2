//! Stores the events of streams.

use std::sync::Arc;
use std::time::Duration;

use switchboard_layers::store::StoreError;

use super::{Chunk, ChunkId, SharedSessions};
use crate::http::events::Changes;
use crate::http::sessions::Live;

/// The least time between two chunks: what is sent meanwhile goes into one.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a chunk is tried, and the time between two attempts. A client that comes back later than that has given up.
const ATTEMPTS: usize = 60;
const RETRY: Duration = Duration::from_secs(1);

impl SharedSessions {
    pub(super) fn chunk_key(session: &str, id: ChunkId) -> Vec<u8> {
        format!("events.{session}.{}.{}", id.stream, id.number).into_bytes()
    }

    /// Stores what streams of this session have sent, until there is nothing that the store does not have.
    pub(in crate::http) async fn save(self: Arc<Self>, live: Arc<Live>) {
        let session = live.session.id();
        while let Some(Changes { chunks, removed }) = live.next_changes() {
            for (id, mut chunk) in chunks {
                chunk.by.clone_from(&self.name);
                self.save_chunk(session, id, &chunk).await;
            }
            for id in removed {
                // What is left expires.
                let _ = self.store.remove(&SharedSessions::chunk_key(session, id)).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn save_chunk(&self, session: &str, id: ChunkId, chunk: &Chunk) {
        let (key, text) =
            (SharedSessions::chunk_key(session, id), serde_json::to_vec(chunk).unwrap_or_default());
        for _ in 0..ATTEMPTS {
            match self.store.insert(&key, &text, self.time).await {
                Ok(_) => return,
                Err(StoreError::Unavailable(_)) => tokio::time::sleep(RETRY).await,
                Err(error) => {
                    tracing::debug!(%error, "events are not stored; clients get them again from this server only");
                    return;
                }
            }
        }
    }
}
