//! The transports of Switchboard: each yields frames or bodies, and nothing else.
//!
//! Applications use the crate `switchboard`, which re-exports these modules. Each transport is a feature: `http`, `ws`, `tcp`, `unix`, `stdio`, `child`, `nats`, and `tls`
//! for those that cross a network.
//!
//! - [`server::Server`] listens on URLs; [`connect`] and [`Dial`] call them.
//! - [`carrier::Carrier`] adds your own transport to both.
//! - [`memory`] connects two services inside the process, for tests.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod carrier;
#[cfg(all(feature = "child", unix))]
pub mod child;
mod dial;
#[cfg(feature = "stream")]
pub mod framing;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "__internals")]
#[doc(hidden)]
pub mod internals;
#[cfg(any(feature = "http", feature = "tcp"))]
mod keep_alive;
pub mod memory;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(any(feature = "http", feature = "tcp"))]
mod net;
#[cfg(any(feature = "http", feature = "nats"))]
#[cfg_attr(
    not(all(feature = "http", feature = "nats")),
    allow(dead_code, unused_imports, reason = "each transport uses a part of it")
)]
mod parts;
#[cfg(any(feature = "http", feature = "tcp"))]
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
mod proxy_protocol;
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
pub use raw::{ProgramEnd, Raw};
