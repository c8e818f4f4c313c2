//! The duplex driver over frames in memory, seen from both of its ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod barrier;
mod batches;
mod both_ways;
mod call_options;
mod cancelling;
mod dialects;
mod ending;
mod frames;
mod limits;
mod load;
mod members;
mod parts;
mod regressions;
mod rig;
mod slow_readers;
mod streams;
