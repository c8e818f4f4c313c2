//! The commands as a shell sees them.

#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]

mod batch;
mod call;
#[cfg(unix)]
mod carriers;
#[cfg(unix)]
mod connecting;
mod describing;
mod diff;
mod discover;
mod discovery;
#[cfg(unix)]
mod documented;
#[cfg(unix)]
mod ending;
mod generate;
mod manual;
mod notify;
mod program;
mod serve;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod watch;
