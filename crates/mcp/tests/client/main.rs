//! The client against our own server, over every kind of transport and in both eras, and against servers that fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod calls;
#[path = "../http/client.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod client;
mod faults;
#[path = "../duplex/fixtures.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod fixtures;
mod questions;
#[path = "../../../../tests/support/http.rs"]
mod raw;
mod scripted;
#[path = "../http/serving.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod serving;
mod settings;
mod watching;
mod ways;
