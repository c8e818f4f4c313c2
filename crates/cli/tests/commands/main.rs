//! The commands as a shell sees them.

#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]

mod batch;
#[cfg(unix)]
mod bench;
mod call;
#[cfg(unix)]
mod carriers;
#[cfg(unix)]
mod check;
mod connecting;
mod describing;
mod diff;
mod discover;
mod discovery;
#[cfg(unix)]
mod documented;
#[cfg(unix)]
mod ending;
mod examples;
#[cfg(unix)]
mod far;
mod generate;
#[cfg(unix)]
mod keyboard;
mod manual;
mod notify;
mod program;
#[cfg(unix)]
mod repl;
mod serve;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod strict;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod watch;
