//! Answers and streams that callers share: coalesced calls, the cache and merged streams.
#![cfg(all(feature = "cache", feature = "coalesce", feature = "identity", feature = "merge"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

mod cache;
mod cache_model;
mod coalesce;
mod coalesce_model;
mod merge;
mod stored;
mod upstream;
