//! Events of streams that another server has, or had.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use switchboard_core::codec::encode_error;
use switchboard_core::{Code, ErrorObject, Json};
use switchboard_layers::store::StoreError;
use tokio::time::Instant;

use super::{Chunk, ChunkId, SharedSessions};
use crate::http::body::{COMMENT, write_event};
use crate::http::events::EventId;
use crate::http::sessions::InUse;

/// How often the store is asked for the next events of a stream.
const POLL: Duration = Duration::from_millis(200);

/// How often it is asked for a stream that it does not know: its server may be about to store it.
const LOOKS: usize = 3;

/// A stream of a session that this server does not have.
pub(in crate::http) struct Replay {
    shared: Arc<SharedSessions>,
    in_use: InUse,
    /// The last event that the client has.
    after: EventId,
    /// The next chunk to read.
    next: ChunkId,
    /// What the last chunk said of the stream.
    last: Chunk,
    keep_alive: Duration,
    /// When its server was last seen.
    seen: Instant,
    has_ended: bool,
}

impl SharedSessions {
    async fn chunk(&self, session: &str, id: ChunkId) -> Result<Option<Chunk>, StoreError> {
        let text = self.store.read(&SharedSessions::chunk_key(session, id)).await?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }
}

impl Replay {
    /// The stream of this event, if the store has it. Gives the session back if not.
    pub(in crate::http) async fn find(
        shared: &Arc<SharedSessions>,
        in_use: InUse,
        after: EventId,
        keep_alive: Duration,
    ) -> Result<Replay, InUse> {
        let next = after.chunk();
        for look in 1..=LOOKS {
            let found = shared.chunk(in_use.live().session.id(), next).await;
            if let Ok(Some(last)) = found {
                let (shared, seen) = (Arc::clone(shared), Instant::now());
                return Ok(Replay { shared, in_use, after, next, last, keep_alive, seen, has_ended: false });
            }
            if look < LOOKS {
                tokio::time::sleep(POLL).await;
            }
        }
        Err(in_use)
    }

    /// Whether it is for messages that belong to no request.
    pub(in crate::http) fn is_general(&self) -> bool {
        self.last.is_general
    }

    /// All of it that is stored now, as events, and the session.
    pub(in crate::http) async fn now(mut self) -> (Vec<u8>, InUse) {
        let mut out = Vec::new();
        while let Ok(true) = self.read(&mut out).await {}
        (out, self.in_use)
    }

    /// The rest of it as pieces of an event stream.
    pub(in crate::http) fn rest(self) -> impl Stream<Item = Bytes> + Send + 'static {
        stream::unfold(self, |mut replay| async move { Some((replay.piece().await?, replay)) })
    }

    /// Writes the events of the next chunk. False if there is none yet.
    async fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        let Some(chunk) = self.shared.chunk(self.in_use.live().session.id(), self.next).await? else {
            return Ok(false);
        };
        let known = self.after.number;
        for (number, text) in chunk.events.iter().filter(|(number, _)| *number > known) {
            self.after.number = *number;
            write_event(out, Some(self.after), text.as_bytes());
        }
        self.next.number += 1;
        self.has_ended = chunk.has_ended;
        self.last = chunk;
        Ok(!self.has_ended)
    }

    async fn piece(&mut self) -> Option<Bytes> {
        let begun = Instant::now();
        let mut out = Vec::new();
        while !self.has_ended {
            match self.read(&mut out).await {
                Ok(_) if self.in_use.live().session.close_reason().is_some() => self.has_ended = true,
                Ok(true) => {}
                Ok(false) if !out.is_empty() || self.has_ended => break,
                Ok(false) => self.look_after(&mut out).await,
                Err(error) => {
                    self.failed(&error);
                    if !out.is_empty() {
                        break;
                    }
                }
            }
            if out.is_empty() && !self.has_ended {
                if begun.elapsed() >= self.keep_alive {
                    return Some(Bytes::from_static(COMMENT));
                }
                tokio::time::sleep(POLL.min(self.keep_alive)).await;
            }
        }
        (!out.is_empty()).then(|| Bytes::from(out))
    }

    /// Ends the stream if its server is gone.
    async fn look_after(&mut self, out: &mut Vec<u8>) {
        if self.seen.elapsed() < self.shared.beat {
            return;
        }
        match self.shared.is_there(&self.last.by).await {
            Ok(true) => self.seen = Instant::now(),
            // What it stored last may have come after the question for it.
            Ok(false) => match self.read(out).await {
                Ok(false) if !self.has_ended => {
                    self.has_ended = true;
                    if let Some(request) = self.last.request.take() {
                        self.after.number += 1;
                        write_event(out, Some(self.after), &lost(&request));
                    }
                }
                Ok(_) => {}
                Err(error) => self.failed(&error),
            },
            Err(error) => self.failed(&error),
        }
    }

    /// The store did not answer. Servers could not say either that they are there, so they get the time to do so again.
    fn failed(&mut self, error: &StoreError) {
        tracing::debug!(%error, "cannot read a stream of another server");
        self.seen = Instant::now();
    }
}

/// The answer to a request whose server is gone.
fn lost(request: &Json) -> Vec<u8> {
    let error = ErrorObject::new(Code::UPSTREAM_FAILED, "the server that ran this call is gone")
        .with_data(&serde_json::json!({"executed": "unknown"}));
    let mut text = b"{\"jsonrpc\":\"2.0\",\"error\":".to_vec();
    encode_error(&mut text, &error);
    text.extend_from_slice(b",\"id\":");
    text.extend_from_slice(request.as_bytes());
    text.push(b'}');
    text
}
