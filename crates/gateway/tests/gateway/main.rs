//! A gateway and its parts, with servers that fail on purpose.

#![allow(clippy::unwrap_used)]

mod attempts;
mod ejection;
mod explaining;
mod fakes;
mod health;
mod hedging;
#[cfg(target_os = "linux")]
mod links;
mod policies;
mod pools;
mod routing;
mod status;
mod streams;
#[cfg(target_os = "linux")]
#[path = "../../../../tests/support/until.rs"]
mod until;
