//! What goes wrong between two programs, and what must hold nevertheless.
//!
//! Where chance decides, the seed is printed, and `SEED` in the environment sets it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod both_ways;
mod chunks;
mod clocks;
mod cuts;
mod halves;
mod peers;
mod reconnect;
mod rig;
