//! The transports of Switchboard: each yields frames or bodies, and nothing else.

#[cfg(feature = "stream")]
pub mod framing;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
pub mod running;
#[cfg(feature = "stream")]
pub mod stream;
#[cfg(feature = "tcp")]
pub mod tcp;
