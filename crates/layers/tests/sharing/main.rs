//! Answers and streams that callers share: coalesced calls.
#![cfg(all(feature = "coalesce", feature = "identity"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

mod coalesce;
mod upstream;
