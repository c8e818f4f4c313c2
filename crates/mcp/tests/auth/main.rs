//! Authorization: servers that need tokens.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "../http/client.rs"]
#[allow(dead_code, clippy::needless_pass_by_value, reason = "other tests use more of it")]
mod client;
#[path = "../duplex/fixtures.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod fixtures;
mod server;
#[allow(dead_code, reason = "clients use more of it")]
mod serving;
#[allow(dead_code, reason = "clients use more of it")]
mod tokens;
