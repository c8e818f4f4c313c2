//! The transports of Switchboard: each yields frames or bodies, and nothing else.

pub mod address;
#[cfg(feature = "http")]
mod dial;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
#[cfg(feature = "http")]
pub mod server;
#[cfg(feature = "http")]
mod socket;
#[cfg(feature = "tls")]
pub mod tls;

#[cfg(feature = "http")]
pub use dial::{Dial, DialError, connect};
