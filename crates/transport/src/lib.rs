//! The transports of Switchboard: each yields frames or bodies, and nothing else.

pub mod address;
#[cfg(any(feature = "http", feature = "stream"))]
mod budget;
#[cfg(all(feature = "child", unix))]
pub mod child;
#[cfg(feature = "http")]
mod dial;
#[cfg(feature = "stream")]
pub mod framing;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
#[cfg(all(feature = "http", any(feature = "tcp", feature = "ws")))]
mod raw;
pub mod running;
#[cfg(feature = "http")]
pub mod server;
#[cfg(feature = "http")]
mod socket;
#[cfg(all(feature = "stdio", unix))]
pub mod stdio;
#[cfg(feature = "stream")]
pub mod stream;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(all(feature = "unix", unix))]
pub mod unix;
#[cfg(feature = "ws")]
pub mod ws;

#[cfg(feature = "http")]
pub use dial::{Dial, DialError, connect, reconnect};
#[cfg(all(feature = "http", any(feature = "tcp", feature = "ws")))]
pub use raw::{Ended, Raw};
