//! Events of a stream as they are stored.

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

/// The place of a chunk: chunks of a stream are numbered from 0. Those that are not kept any more are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct ChunkId {
    pub(in crate::http) stream: u64,
    pub(in crate::http) number: u64,
}

/// Events of a stream. A chunk is written once, by the server that has the stream.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::http) struct Chunk {
    /// The server that wrote it.
    pub(in crate::http) by: String,
    /// Whether its stream is for messages that belong to no request.
    pub(in crate::http) is_general: bool,
    /// Whether it is the last one.
    pub(in crate::http) has_ended: bool,
    /// The identifier of the request that the stream answers.
    pub(in crate::http) request: Option<Json>,
    /// The events, with their numbers.
    pub(in crate::http) events: Vec<(u64, Json)>,
}
