//! The transports of Switchboard: each yields frames or bodies, and nothing else.

mod budget;
pub mod carrier;
#[cfg(all(feature = "child", unix))]
pub mod child;
mod dial;
#[cfg(feature = "stream")]
pub mod framing;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
#[cfg(any(feature = "http", feature = "tcp"))]
mod net;
mod raw;
pub mod running;
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

pub use dial::{Dial, DialError, connect, reconnect};
pub use raw::{Ended, Raw};
