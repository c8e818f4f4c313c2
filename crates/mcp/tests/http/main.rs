//! The server over HTTP, with a listener and clients that send exactly what they are told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are sent")]

mod alone;
mod client;
#[path = "../duplex/fixtures.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod fixtures;
mod headers;
mod layers;
mod old;
#[path = "../../../../tests/support/http.rs"]
mod raw;
mod relay;
mod restart;
mod serving;
mod sessions;
mod shared;
mod streams;
mod tasks;
