//! Switchboard against its peers, side by side.
//!
//! Servers of several carriers ([`servers`]) and in-process cases ([`cases`]) answer the same [`workload`]s. [`compare`]
//! drives them in interleaved rounds, because only ratios taken in the same minutes on the same machine mean anything.
//! `by_hand` is the floor: what a minimal server with a validating [`scanner`] and no framework costs.

pub mod allocations;
pub mod callgrind;
pub mod cases;
pub mod child;
pub mod compare;
pub mod findings;
pub mod gates;
pub mod goal;
pub mod load;
pub mod observability;
pub mod options;
pub mod pipeline;
pub mod report;
pub mod samples;
pub mod scanner;
pub mod security;
pub mod servers;
pub mod websocket;
pub mod workload;
