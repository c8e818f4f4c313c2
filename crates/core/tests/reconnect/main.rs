//! A peer that reconnects: what becomes of calls and streams when its connections break.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod calls;
mod chaos;
mod connecting;
mod on_demand;
mod policy;
mod rig;
mod streams;
