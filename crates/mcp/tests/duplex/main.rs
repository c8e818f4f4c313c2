//! The server over a duplex connection, as hosts use it over stdio: what the official conformance suite does not look at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are sent")]

mod calls;
mod changes;
mod client;
mod errors;
mod fixtures;
mod lifecycle;
mod listen;
mod logging;
mod malformed;
mod pages;
mod questions;
mod relay;
mod results;
mod rounds;
mod tasks;
