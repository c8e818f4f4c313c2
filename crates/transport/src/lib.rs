//! The transports of Switchboard: each yields frames or bodies, and nothing else.

#[cfg(feature = "http")]
pub mod http;
pub mod memory;
#[cfg(feature = "http")]
pub mod server;
#[cfg(feature = "http")]
mod socket;
#[cfg(feature = "ws")]
pub mod ws;
