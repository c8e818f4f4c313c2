//! The commands as a shell sees them.

#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]

mod call;
#[cfg(unix)]
mod carriers;
#[cfg(unix)]
mod check;
#[cfg(unix)]
mod ending;
mod program;
mod serve;
#[cfg(unix)]
mod streams;
