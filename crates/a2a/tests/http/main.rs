//! An agent over HTTP, with a listener and clients that send exactly what they are told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are sent")]

mod adapters;
#[path = "../../../../tests/support/broker.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod broker;
mod cancelling;
mod cards;
mod context;
mod errors;
mod held;
mod layers;
mod lists;
mod old;
mod push;
mod push_store;
#[path = "../../../../tests/support/http.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod raw;
mod restart;
mod serving;
mod sharing;
mod streams;
mod tasks;
mod tenants;
mod transcripts;
mod transports;
