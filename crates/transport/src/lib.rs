//! The transports of Switchboard: each yields frames or bodies, and nothing else.

#[cfg(all(feature = "child", unix))]
pub mod child;
#[cfg(feature = "stream")]
pub mod framing;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
pub mod running;
#[cfg(all(feature = "stdio", unix))]
pub mod stdio;
#[cfg(feature = "stream")]
pub mod stream;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(all(feature = "unix", unix))]
pub mod unix;
