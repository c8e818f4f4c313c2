//! The commands as a shell sees them.

#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]

#[cfg(unix)]
mod bench;
mod call;
#[cfg(unix)]
mod carriers;
#[cfg(unix)]
mod check;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod far;
mod program;
#[cfg(unix)]
mod repl;
mod serve;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod terminal;
