//! Authorization: servers that need tokens, and clients that get them, with an authorization server of our own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod agent;
mod attacks;
#[path = "../http/client.rs"]
#[allow(dead_code, clippy::needless_pass_by_value, reason = "other tests use more of it")]
mod client;
#[path = "../duplex/fixtures.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod fixtures;
mod hostile;
mod issuer;
mod login;
#[path = "../../../../tests/support/http.rs"]
mod raw;
mod server;
mod serving;
mod tokens;
