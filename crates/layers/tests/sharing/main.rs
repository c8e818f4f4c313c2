//! Answers and streams that callers share: coalesced calls and the cache.
#![cfg(all(feature = "cache", feature = "coalesce", feature = "identity"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

mod cache;
mod cache_model;
mod coalesce;
mod upstream;
