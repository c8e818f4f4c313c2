//! Signed messages: the vectors, every transport, replays, idempotency, the audit log, and what happens when one byte changes.
#![cfg(feature = "signing")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

mod audited;
mod changes;
mod replays;
mod rig;
mod streams;
mod vectors;
mod whole;
mod wire;
